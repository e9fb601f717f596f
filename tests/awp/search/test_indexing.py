"""The index says what the content says, whoever wrote it and whatever was killed in between."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from agentweb.awp.content import running
from agentweb.awp.content.models import ContentPage
from agentweb.awp.search import indexing, terms
from agentweb.awp.search.indexing import catch_up, forget_pages, index_page, index_pages
from agentweb.awp.search.models import SearchedPage, SearchPosting, SearchTerm
from agentweb.awp.search.terms import EVERY, MAX_TERMS, Has, key_of, page_terms
from agentweb.client.ranking_words import VERSION
from tests.awp.content import site as the_site
from tests.awp.search.pages import paths, write_page

pytestmark = pytest.mark.django_db


def is_sound() -> bool:
    """Whether the counts are those of the postings, and every page is counted once."""
    counted = dict(SearchTerm.objects.exclude(pages=0).values_list("term", "pages"))
    pages = SearchedPage.objects.count()
    there = Counter(SearchPosting.objects.values_list("term", flat=True))
    return counted == {**there, **({key_of(EVERY): pages} if pages else {})}


def test_a_page_is_found_by_its_title_headings_description_path_and_text() -> None:
    write_page(
        "green-tea",
        "# From Uji\n\nPicked in spring.",
        title="Sencha",
        description="A fresh cup",
        path="/teas/green-tea.html?page=2",
    )
    write_page("other", "Nothing alike.")
    for asked in ("sencha", "uji", "fresh", "green", "springs"):
        assert paths(asked) == ["/teas/green-tea.html?page=2"], asked
    assert paths("html") == []
    assert is_sound()


def test_what_a_page_no_longer_says_does_not_find_it() -> None:
    write_page("tea", "Green tea.", "Second part about cups.")
    page = write_page("tea", "Black tea.")
    assert paths("green") == paths("cups") == []
    assert paths("black") == ["/tea/"]
    assert is_sound()
    assert SearchedPage.objects.get().digest == page.digest


def test_taking_in_the_same_again_writes_no_posting() -> None:
    page = write_page("tea", "Green tea.")
    with CaptureQueriesContext(connection) as asked:
        index_page(page, ["Green tea."])
    assert not [
        each for each in asked if "searchposting" in each["sql"] and not each["sql"].startswith("SELECT")
    ]
    assert is_sound()


def test_terms_that_stay_keep_their_rows_when_others_change() -> None:
    write_page("tea", "Green tea and cups.")
    with CaptureQueriesContext(connection) as asked:
        write_page("tea", "Green tea and bowls.")
    [removed] = [
        each["sql"] for each in asked if each["sql"].startswith("DELETE") and "searchposting" in each["sql"]
    ]
    assert str(key_of("cup")) in removed
    assert str(key_of("green")) not in removed
    assert is_sound()


def test_pages_that_are_forgotten_leave_nothing() -> None:
    first, second = write_page("a", "Tea."), write_page("b", "Tea and cups.")
    assert forget_pages([first.pk, 987_654]) == 1
    assert paths("tea") == ["/b/"]
    assert is_sound()
    assert forget_pages([second.pk]) == 1
    assert forget_pages([second.pk]) == forget_pages([]) == 0
    assert not SearchPosting.objects.exists()
    assert is_sound()


def test_catching_up_takes_in_what_was_written_and_out_what_was_removed() -> None:
    gone = write_page("gone", "Old tea.")
    changed = write_page("changed", "Old tea.")
    write_page("same", "Same tea.")
    ContentPage.objects.filter(pk=gone.pk).delete()
    write_page("changed", "New cups.", is_indexed=False)
    write_page("new", "New cups too.", is_indexed=False)
    assert catch_up() == {"forgotten": 1, "indexed": 2}
    assert paths("cups") == ["/changed/", "/new/"]
    assert paths("tea") == ["/same/"]
    assert changed.pk in SearchedPage.objects.values_list("page", flat=True)
    assert is_sound()
    assert catch_up() == {"forgotten": 0, "indexed": 0}
    assert not SearchTerm.objects.filter(pages__lte=0).exists()


def test_catching_up_works_through_any_number_of_pages_and_goes_on_where_it_was_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(indexing, "_PAGES", 2)
    for number in range(5):
        write_page(f"p{number}", "Tea.", is_indexed=False)
    ticks: list[int] = []

    def end() -> None:
        ticks.append(len(paths("tea")))
        if ticks[-1] == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        catch_up(tick=end)
    # After each page that is read, and each two that are taken in.
    assert ticks == [0, 0, 2, 2, 2, 4]
    assert catch_up()["indexed"] == 1
    assert len(paths("tea")) == 5
    assert is_sound()


def test_terms_are_found_before_anybody_has_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    write_page("tea", "Green tea.", is_indexed=False)
    outside = len(connection.savepoint_ids)
    depths: list[int] = []

    def finding(*of: Any) -> Any:
        depths.append(len(connection.savepoint_ids))
        return page_terms(*of)

    monkeypatch.setattr(indexing, "page_terms", finding)
    assert catch_up()["indexed"] == 1
    assert depths == [outside]


def test_a_page_that_is_written_while_its_terms_are_found_is_left_to_who_wrote_it() -> None:
    write_page("tea", "Green tea.", is_indexed=False)
    write_page("cups", "Cups.", is_indexed=False)
    ticks = iter(range(99))

    def write() -> None:
        if next(ticks) == 0:
            write_page("tea", "Black tea.", is_indexed=False)

    assert catch_up(tick=write) == {"forgotten": 0, "indexed": 1}
    assert paths("green") == []
    assert paths("cups") == ["/cups/"]
    assert catch_up()["indexed"] == 1
    assert paths("black") == ["/tea/"]
    assert is_sound()


@pytest.mark.usefixtures("site")
def test_a_content_run_leaves_its_pages_to_be_found() -> None:
    running.run()
    assert paths("red shoe")[0] == "/articles/red/"
    the_site.PAGES["red"] = "A green hat."
    del the_site.PAGES["blue"]
    running.run()
    assert paths("hat") == ["/articles/red/"]
    assert "/articles/blue/" not in paths("blue shoe")
    assert is_sound()


def test_another_version_of_terms_is_taken_in_anew_and_never_mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    write_page("tea", "Green tea.")
    write_page("cups", "Cups.")
    old = key_of("tea")
    monkeypatch.setattr(indexing, "VERSION", "2/test")
    monkeypatch.setattr(terms.key_of, "__defaults__", ("2/test",))
    assert key_of("tea") != old
    assert paths("tea") == []
    assert catch_up() == {"forgotten": 0, "indexed": 2}
    assert paths("tea") == ["/tea/"]
    assert not SearchPosting.objects.filter(term=old).exists()
    assert is_sound()


def test_an_index_that_is_rolled_back_with_its_page_is_as_before() -> None:
    write_page("tea", "Green tea.")
    with transaction.atomic():
        write_page("cups", "Cups and tea.")
        transaction.set_rollback(True)
    assert paths("cups") == []
    assert is_sound()


def test_several_pages_at_once_take_a_number_of_statements_that_does_not_grow_with_them() -> None:
    def statements(count: int) -> int:
        pages = [
            write_page(f"n{count}-{number}", f"Tea {number}.", is_indexed=False) for number in range(count)
        ]
        with CaptureQueriesContext(connection) as asked:
            index_pages([(page, ["Tea."]) for page in pages])
        return len(asked)

    assert statements(2) == statements(12)
    assert is_sound()


def test_a_term_says_which_part_has_it_first() -> None:
    found = page_terms("Sencha", "", "/x", ["Tea in one.", "Cups and tea in two."], "en")
    assert (found[key_of("tea")].place, found[key_of("cup")].place) == (1, 2)
    assert found[key_of("sencha")].place == 0


def test_a_page_of_very_many_words_keeps_those_it_has_most_of() -> None:
    words = " ".join(f"w{number}" for number in range(MAX_TERMS + 500))
    found = page_terms("Title", "", "/x", [words, "often often often"], "en")
    assert len(found) == MAX_TERMS
    assert {key_of("often"), key_of("titl")} <= found.keys()


def test_a_page_without_words_is_counted_like_any_other() -> None:
    write_page("a", title="…", path="/")
    write_page("b", "Tea.")
    assert is_sound()
    assert SearchTerm.objects.get(term=key_of(EVERY)).pages == 2


def test_keys_fit_a_database_s_whole_numbers_and_differ() -> None:
    keys = {key_of(f"term{number}") for number in range(10_000)}
    assert len(keys) == 10_000
    assert all(-(2**63) <= key < 2**63 for key in keys)
    assert min(keys) < 0 < max(keys)
    assert Has(1, 2).impact == 1
    assert VERSION.startswith("1/")
