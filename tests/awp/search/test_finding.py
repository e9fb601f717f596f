"""Which pages and actions a query finds, in which order, for whom, and at what cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentweb.access.callers import AGENT, Caller, anonymous
from agentweb.awp.content.models import ContentPage
from agentweb.awp.search import finding, postings
from agentweb.awp.search.finding import ASKED, search
from agentweb.awp.search.snippets import LENGTH
from agentweb.catalog.flows import flow
from agentweb.catalog.registry import registry
from agentweb.catalog.words import action
from agentweb.wire.errors import RequestError
from tests.awp.search.pages import PLACE, found, paths, write_page

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_declared() -> Iterator[None]:
    with registry.only():
        yield


def declare(name: str, description: str, **options: Any) -> None:
    action(name, description=description, **options)(lambda _inp, ctx: None)


def test_the_best_page_is_first_and_a_title_counts_more_than_a_text() -> None:
    write_page("a", "Some cups, and tea once among many other words of no interest here.", title="Cups")
    write_page("b", "Everything about it.", title="Green tea")
    write_page("c", "Bread.", title="Bread")
    assert paths("tea") == ["/b/", "/a/"]


def test_a_page_that_has_more_of_the_query_is_before_one_that_has_less() -> None:
    write_page("one", "Green paint, green grass and green walls.")
    write_page("both", "Green tea.")
    write_page("other", "Black tea, white tea, tea.")
    assert paths("green tea")[0] == "/both/"
    assert set(paths("green tea")) == {"/one/", "/both/", "/other/"}


def test_a_result_has_exactly_the_members_of_the_design() -> None:
    write_page(
        "teas/green",
        "# Green tea\n\nPicked *by hand* in [Uji](https://uji.example).",
        title="Green tea & more",
    )
    [result] = found("uji")
    assert result == {
        "type": "page",
        "title": "Green tea & more",
        "path": "/teas/green/",
        "url": "https://shop.example/awp/content/teas/green.md",
        "snippet": "Green tea Picked by hand in Uji.",
        "score": result["score"],
    }
    assert 0 < result["score"] < 20


def test_equal_scores_are_ordered_by_path_whatever_was_written_first() -> None:
    for slug in ("c", "a", "b"):
        write_page(slug, "Tea.", title="Same")
    assert len({each["score"] for each in found("tea")}) == 1
    assert paths("tea") == ["/a/", "/b/", "/c/"]


def test_asking_again_answers_the_same() -> None:
    for number in range(30):
        write_page(f"p{number}", "Tea " * (number % 4 + 1))
    assert found("tea", limit=50) == found("tea", limit=50)


@pytest.mark.parametrize("limit", [1, 7, 50])
def test_cursors_lead_through_all_results_once(limit: int) -> None:
    for number in range(23):
        write_page(f"p{number:02}", "Tea " * (number % 3 + 1))
    seen: list[str] = []
    cursor = None
    while True:
        answer = search("tea", anonymous(""), PLACE, limit=limit, cursor=cursor)
        assert len(answer["results"]) <= limit
        seen += [each["path"] for each in answer["results"]]
        cursor = answer["next_cursor"]
        if cursor is None:
            break
    assert seen == paths("tea", limit=50)
    assert len(set(seen)) == 23


def test_a_page_that_comes_meanwhile_moves_nobody_by_one() -> None:
    for number in range(6):
        write_page(f"p{number}", "Tea " * (6 - number) + "and words " * 20)
    first = search("tea", anonymous(""), PLACE, limit=3)
    write_page("new", "Tea tea tea tea.", title="Tea")
    second = search("tea", anonymous(""), PLACE, limit=3, cursor=first["next_cursor"])
    seen = [each["path"] for answer in (first, second) for each in answer["results"]]
    assert len(seen) == len(set(seen))


def test_a_cursor_of_another_query_is_refused() -> None:
    for number in range(3):
        write_page(f"p{number}", "Tea and cups.")
    cursor = search("tea", anonymous(""), PLACE, limit=1)["next_cursor"]
    with pytest.raises(RequestError, match="another query"):
        search("cups", anonymous(""), PLACE, cursor=cursor)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Crème brûlée", "creme brulee"),
        ("Die Straße nach Köln", "STRASSE koln"),
        ("日本の緑茶を買う", "緑茶"),
        ("日本の緑茶を買う", "茶"),
        ("무선 이어폰을 주문하세요", "이어폰"),
        ("كِتَاب عن الشاي", "كتاب"),
        ("ספר על תֵּה", "תה"),
        ("Sale 🍵 today", "🍵"),
        ('He said "green tea" twice', '"green tea"'),
        ("to be or not to be", "to be or"),
        ("user's guide", "users guide"),
        ("model X-200/b", "x-200"),
        ("snake_case", "snake_case"),
        ("100% cotton; <b>bold</b>", "' OR 1=1 -- 100%"),
    ],
    ids=[
        *(
            "accents",
            "german",
            "pair",
            "one-character",
            "korean",
            "arabic",
            "hebrew",
            "emoji",
            "quotes",
            "stop-words",
        ),
        *("apostrophe", "model", "underscore", "signs"),
    ],
)
def test_what_is_written_is_found_by_what_people_type(written: str, asked: str) -> None:
    write_page("other", "Nothing alike whatsoever.", title="Zzz")
    write_page("page", written, title="Zzz")
    assert paths(asked) == ["/page/"]


@pytest.mark.parametrize("asked", ["!!!", '""', "\u200b", "%_", "zzzzzz", "🦄", "x" * 500, "\ud800"])
def test_what_nobody_has_finds_nothing(asked: str) -> None:
    write_page("page", "Tea.")
    assert search(asked, anonymous(""), PLACE) == {"query": asked, "results": [], "next_cursor": None}


def test_of_a_very_long_query_the_rarest_words_are_looked_for() -> None:
    write_page("rare", "Unobtainium is here.")
    for number in range(ASKED + 4):
        write_page(f"a{number}", f"word{number} common.")
        write_page(f"b{number}", f"word{number} common.")
    asked = " ".join(f"word{number}" for number in range(ASKED + 4)) + " unobtainium"
    assert paths(asked)[0] == "/rare/"
    with CaptureQueriesContext(connection) as asking:
        found(asked)
    assert max(len(each["sql"]) for each in asking) < 20_000


def test_a_snippet_is_of_the_part_that_has_the_hit_and_bounded() -> None:
    filler = "Words of no interest. " * 60
    write_page(
        "long", filler, filler, f"{filler}The unobtainium is in part three. {filler}", description="About."
    )
    [result] = found("unobtainium")
    assert "unobtainium is in part three" in result["snippet"]
    assert len(result["snippet"]) <= LENGTH


def test_a_hit_in_the_title_alone_shows_the_description() -> None:
    write_page("page", "Text of the page.", title="Unobtainium", description="What it is **about**.")
    assert found("unobtainium")[0]["snippet"] == "What it is about."


def test_a_page_in_several_languages_is_found_once_in_the_reader_s() -> None:
    write_page("tea", "Our tea. Sencha.", title="Tea", language="en", path="/en/tea/")
    write_page("tea", "Unser Tee. Sencha.", title="Tee", language="de", path="/de/tee/")
    write_page("nur", "Sencha auch hier.", title="Nur deutsch", language="de", path="/de/nur/")
    assert set(paths("sencha", languages=("de", "en"))) == {"/de/tee/", "/de/nur/"}
    assert set(paths("sencha", languages=("en",))) == {"/en/tea/", "/de/nur/"}
    # Who would be given the English version does not get a word that only the German one has.
    assert paths("unser", languages=("en",)) == []
    assert paths("unser", languages=("de", "en")) == ["/de/tee/"]


def test_words_of_other_languages_are_found_as_they_are_written() -> None:
    write_page("de", "Alle Bestellungen werden geliefert.", language="de")
    write_page("en", "All orders are delivered.", language="en")
    assert paths("Bestellungen") == ["/de/"]
    assert paths("ordering") == ["/en/"]
    assert set(paths("bestellungen orders")) == {"/de/", "/en/"}


def test_actions_are_among_the_results_and_lead_to_their_description() -> None:
    declare(
        "add_to_cart", "Put a **product** into the cart.", effect="write", title="Add to cart", input=None
    )
    write_page("page", "How the cart works.")
    by_type = {each["type"]: each for each in found("cart")}
    assert by_type["action"] == {
        "type": "action",
        "title": "Add to cart",
        "path": "/agent/add_to_cart",
        "url": "https://shop.example/.well-known/agent-actions.json#add_to_cart",
        "snippet": "Put a product into the cart.",
        "score": by_type["action"]["score"],
    }
    assert by_type["page"]["path"] == "/page/"


def test_an_action_is_found_by_what_its_verb_means_and_by_its_flow() -> None:
    declare("checkout", "Pay for what is there.", effect="spend", scope="shop:pay", input=None)
    declare("list_notes", "What was noted.", input=None)
    flow("weekly_groceries", description="All of it.", steps=[{"action": "checkout", "with": {}}])
    assert [fault for fault in registry.faults() if fault.is_error] == []
    assert found("buy something")[0]["title"] == "Checkout"
    assert [each["title"] for each in found("groceries")] == ["Checkout"]


def test_without_the_room_that_calls_them_no_action_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    declare("tea_action", "Tea.", input=None)
    monkeypatch.setattr(finding, "advertised", lambda name: None)
    assert found("tea") == []


def test_what_is_declared_later_is_found_at_once() -> None:
    declare("first", "Tea.", input=None)
    assert len(found("tea")) == 1
    declare("second", "Tea too.", input=None)
    assert len(found("tea")) == 2


def test_hidden_actions_are_neither_found_nor_felt_in_a_score() -> None:
    declare("open_report", "The report of tea.", input=None)
    before = found("report tea")
    declare("secret_report", "The secret report.", input=None, visible=lambda user: user.is_staff)
    assert found("report tea") == before
    assert found("secret") == []
    staff = User.objects.create(username="ada", is_staff=True)
    answer = search("secret", Caller(kind=AGENT, user_id=staff.pk), PLACE)
    assert [each["title"] for each in answer["results"]] == ["Secret report"]


def test_a_visitor_s_guard_sees_nobody() -> None:
    seen: list[Any] = []
    declare("guarded", "Tea.", input=None, visible=lambda user: bool(seen.append(user)))
    assert found("tea") == []
    assert {user.is_anonymous for user in seen} == {True}


def test_a_search_costs_a_fixed_number_of_queries() -> None:
    for number in range(30):
        write_page(f"p{number}", "Tea and cups and more.", "Second part, with bread.")
    for asked, limit in (("tea", 1), ("tea cups bread", 10), ("tea cups bread more second", 50)):
        with CaptureQueriesContext(connection) as asking:
            found(asked, limit=limit)
        assert len(asking) == 5, asking.captured_queries


def test_common_words_add_to_scores_and_choose_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        write_page(f"p{number:02}", "Common words here " * (number % 5 + 1), title="P")
    write_page("rare", "Unobtainium and common things.", title="P")
    everything = {each["path"]: each["score"] for each in found("unobtainium common", limit=50)}
    monkeypatch.setattr(postings, "LOOKED_AT", 10)
    with CaptureQueriesContext(connection) as asking:
        [rare] = found("unobtainium common")
    assert rare == {**rare, "path": "/rare/", "score": everything["/rare/"]}
    assert len(asking) == 6
    # Alone, the weightiest of a common word are read along the index.
    monkeypatch.setattr(postings, "CHOSEN", 5)
    assert paths("common", limit=50) == [path for path, _score in _best(everything, 5, 40)]


def _best(scores: dict[str, float], count: int, pages: int) -> list[tuple[str, float]]:
    common = [(f"/p{number:02}/", scores[f"/p{number:02}/"]) for number in range(pages)]
    return sorted(common, key=lambda each: (-each[1], each[0]))[:count]


def test_no_more_pages_are_ranked_than_are_shown_to_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "CHOSEN", 5)
    for number in range(12):
        write_page(f"p{number:02}", "Tea.")
    assert len(paths("tea", limit=50)) == 5


def test_a_page_that_is_gone_and_still_in_the_index_is_left_out() -> None:
    page = write_page("gone", "Tea.")
    write_page("there", "Tea.")
    ContentPage.objects.filter(pk=page.pk).delete()
    assert paths("tea") == ["/there/"]


def test_a_site_under_a_prefix_has_it_in_its_addresses() -> None:
    declare("tea_action", "Tea.", input=None)
    write_page("tea", "Tea.", path="/shop/tea/")
    place = type(PLACE)(PLACE.origin, PLACE.site, "/shop")
    results = search("tea", anonymous(""), place)["results"]
    assert {each["path"] for each in results} == {"/shop/tea/", "/shop/agent/tea_action"}
    assert {each["url"] for each in results} == {
        "https://shop.example/shop/awp/content/tea.md",
        "https://shop.example/.well-known/agent-actions.json#tea_action",
    }


def test_an_empty_site_finds_nothing() -> None:
    assert found("tea") == []
    assert finding.MAX_QUERY == 500
