"""``GET /agent-index/find``: which actions, in which order, the same on every database."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client, override_settings

from agentweb import rooms
from agentweb.client.crawling import About
from agentweb.index import finding, store
from agentweb.index.models import IndexedEntry, IndexedPosting, IndexedSite
from agentweb.wire.clock import now_datetime
from tests.index.sites import FIND, an_action, error_of, found, is_sound, keep, names
from tests.support.web import send

pytestmark = pytest.mark.django_db

PAY = {"currency": "USD", "amount": 25}


def test_a_result_says_what_the_action_is_and_where() -> None:
    keep(
        "paper.example",
        an_action("buy_paper", "Order printer paper.", "spend", scope="checkout", cost=PAY),
    )
    body = found("buy printer paper")
    assert list(body) == ["query", "results", "next_cursor"]
    [result] = body["results"]
    score, at = result.pop("score"), result.pop("fetched_at")
    assert score > 0
    assert at.endswith("Z")
    assert result == {
        "type": "action",
        "site": "paper.example",
        "action": "buy_paper",
        "description": "Order printer paper.",
        "effect": "spend",
        "scope": "checkout",
        "cost": {"currency": "USD", "amount": "25.00"},
        "manifest_url": "https://paper.example/.well-known/agent-actions.json",
        "stale": False,
    }


def test_what_a_site_says_of_itself_finds_its_actions() -> None:
    keep(
        "office.example",
        an_action("checkout", "Pay for what is in the cart.", "spend"),
        about=About("Greenleaf Office", "Printer paper, pens and office furniture."),
    )
    keep(
        "zoo.example", an_action("checkout", "Pay for what is in the cart.", "spend"), about=About("City Zoo")
    )
    assert names("buy printer paper") == ["office.example/checkout", "zoo.example/checkout"]


def test_flows_are_results_with_the_gravest_effect_and_the_cost_of_their_steps() -> None:
    keep(
        "shop.example",
        an_action("look_up", "Look."),
        an_action("pay_up", "Pay.", "spend", cost=PAY, input={"type": "object"}),
        flows=[
            {
                "name": "purchase_printer",
                "description": "Choose a printer and pay.",
                "steps": [{"action": "look_up", "with": {}}, {"action": "pay_up", "with": {}}],
            },
            {"name": "printer_broken", "steps": [{"action": "nowhere", "with": {}}]},
        ],
    )
    [first, *_] = found("printer")["results"]
    assert (first["type"], first["flow"], first["effect"], first["scope"]) == (
        "flow",
        "purchase_printer",
        "spend",
        None,
    )
    assert first["cost"] == {"currency": "USD", "amount": "25.00"}
    assert "shop.example/printer_broken" not in names("printer")


@pytest.mark.parametrize(
    ("price", "cost"),
    [
        ("$input.most", {"currency": "USD", "field": "most"}),
        ("$steps.0.price", {"currency": "USD"}),
    ],
    ids=["input", "output"],
)
def test_a_flow_whose_price_is_told_later_says_its_currency(price: str, cost: dict[str, Any]) -> None:
    by_input = {"type": "object", "properties": {"price": {"type": "string"}}}
    paying = an_action("pay_up", "Pay.", "spend", cost={"currency": "USD", "field": "price"}, input=by_input)
    steps = [{"action": "look_up", "with": {}}, {"action": "pay_up", "with": {"price": price}}]
    keep(
        "shop.example", an_action("look_up", "Look."), paying, flows=[{"name": "get_stamps", "steps": steps}]
    )
    asked = {"currency": "USD", "effect": "spend", "max_cost": "3"}
    [first] = [each for each in found("stamps", **asked)["results"] if each["type"] == "flow"]
    assert first["cost"] == cost


def test_equal_ones_stand_by_site_and_name() -> None:
    for site in ("b.example", "Z.example".lower(), "a.example"):
        keep(site, an_action("sell_two", "Stamps."), an_action("sell_one", "Stamps."))
    assert names("stamps") == [
        f"{site}/{name}"
        for site in ("a.example", "b.example", "z.example")
        for name in ("sell_one", "sell_two")
    ]


def test_names_are_ordered_by_code_point_whatever_the_database_thinks() -> None:
    keep("a.example", *(an_action(name, "Stamps.") for name in ("B", "a", "_", "Z", "a-b", "ab")))
    assert names("stamps", per_site=10) == [f"a.example/{name}" for name in ("B", "Z", "_", "a", "a-b", "ab")]


def test_at_most_three_of_one_site_unless_more_are_asked_for() -> None:
    stuffed = [an_action(f"paper_{n}", "Printer paper printer paper.") for n in range(60)]
    keep("stuffed.example", *stuffed)
    keep("honest.example", an_action("order", "Order printer paper."))
    given = names("printer paper", limit=50)
    assert sum(name.startswith("stuffed") for name in given) == 3
    assert "honest.example/order" in given
    assert len(names("printer paper", per_site=5)) == 6
    assert len(names("printer paper", site="stuffed.example", limit=50)) == 50
    assert len(names("printer paper", site="stuffed.example", per_site=2)) == 2


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"effect": "read"}, ["a.example/free"]),
        ({"site": "B.example"}, ["b.example/dear"]),
        ({"currency": "USD"}, ["b.example/dear", "c.example/cheap", "d.example/chosen"]),
        ({"currency": "EUR"}, ["e.example/euros"]),
        (
            {"currency": "USD", "max_cost": "30"},
            ["a.example/free", "c.example/cheap", "d.example/chosen"],
        ),
        (
            {"currency": "USD", "max_cost": "25.00", "effect": "spend"},
            ["c.example/cheap", "d.example/chosen"],
        ),
        ({"currency": "USD", "max_cost": "0"}, ["a.example/free", "d.example/chosen"]),
        ({"effect": "delete"}, []),
    ],
    ids=["effect", "site", "currency", "other-currency", "max-cost", "both", "nothing-to-pay", "none"],
)
def test_filters(filters: dict[str, str], expected: list[str]) -> None:
    by_input = {
        "type": "object",
        "properties": {"price": {"type": "number"}},
        "required": ["price"],
    }
    keep("a.example", an_action("free", "Stamps."))
    keep("b.example", an_action("dear", "Stamps.", "spend", cost={"currency": "USD", "amount": 99}))
    keep("c.example", an_action("cheap", "Stamps.", "spend", cost=PAY))
    keep(
        "d.example",
        an_action("chosen", "Stamps.", "spend", cost={"currency": "USD", "field": "price"}, input=by_input),
    )
    keep("e.example", an_action("euros", "Stamps.", "spend", cost={"currency": "EUR", "amount": 5}))
    assert sorted(names("stamps", **filters)) == expected


def test_a_cursor_goes_on_where_the_page_ended() -> None:
    for number in range(7):
        keep(f"s{number}.example", an_action("stamps", "Stamps."))
    first = found("stamps", limit=3)
    keep("s0a.example", an_action("stamps", "Stamps."))  # comes in between and moves nobody
    second = found("stamps", limit=3, cursor=first["next_cursor"])
    third = found("stamps", limit=3, cursor=second["next_cursor"])
    given = [each["site"] for page in (first, second, third) for each in page["results"]]
    assert given == [f"s{number}.example" for number in range(7)]
    assert third["next_cursor"] is None


def test_a_cursor_of_another_query_is_refused() -> None:
    for number in range(3):
        keep(f"s{number}.example", an_action("stamps", "Stamps."))
    cursor = found("stamps", limit=1)["next_cursor"]
    for other in ({"q": "paper"}, {"q": "stamps", "effect": "read"}):
        answer = Client().get(FIND, {**other, "cursor": cursor})
        assert (answer.status_code, error_of(answer)["code"]) == (400, "invalid_cursor")


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("", {("q", "required")}),
        ("q=%20", {("q", "pattern")}),
        ("q=a&effect=buy", {("effect", "enum")}),
        ("q=a&currency=XYZ", {("currency", "enum")}),
        ("q=a&max_cost=5", {("currency", "dependentRequired")}),
        ("q=a&limit=51", {("limit", "maximum")}),
        ("q=a&per_site=0", {("per_site", "minimum")}),
        ("q=a&x=1", {("x", "unknown_field")}),
    ],
)
def test_everything_that_is_wrong_with_the_query_string_is_listed(
    query: str, wrong: set[tuple[str, str]]
) -> None:
    answer = send("GET", f"{FIND}?{query}")
    assert (answer.status_code, error_of(answer)["code"]) == (400, "invalid_parameter")
    assert {(each["field"], each["code"]) for each in error_of(answer)["problems"]} == wrong


@pytest.mark.parametrize("cost", ["5.123", "-1", "ten", "1e3"])
def test_an_amount_that_is_none_is_refused(cost: str) -> None:
    answer = Client().get(FIND, {"q": "a", "currency": "USD", "max_cost": cost})
    assert (answer.status_code, error_of(answer)["code"]) == (400, "invalid_parameter")


@pytest.mark.parametrize("asked", ["🍵🦄", "' OR 1=1 --", "%_*", "緑茶", "<script>", "the of", "x " * 200])
def test_no_text_breaks_a_search(asked: str) -> None:
    keep("tea.example", an_action("tea", "Tea 🍵 緑茶 <script>alert(1)</script>."))
    answer = Client().get(FIND, {"q": asked})
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("application/json")


def test_texts_of_sites_are_cut_and_hide_nothing() -> None:
    keep("odd.example", an_action("stamps", "Stamps.\x1b[2J \u202etxt " + "very " * 500))
    [result] = found("stamps")["results"]
    assert len(result["description"]) <= 500
    assert "\x1b" not in result["description"]
    assert "\u202e" not in result["description"]


@pytest.mark.parametrize(
    ("columns", "stale"),
    [
        ({}, False),
        ({"state": IndexedSite.State.FAILED}, True),
        ({"confirmed_at": -49}, True),
        ({"confirmed_at": -47}, False),
    ],
    ids=["fresh", "failed", "old", "not-so-old"],
)
def test_what_may_have_changed_since_is_stale(columns: dict[str, Any], stale: bool) -> None:
    hours = columns.get("confirmed_at")
    if hours is not None:
        columns = {"confirmed_at": now_datetime() + timedelta(hours=hours)}
    keep("old.example", an_action("stamps", "Stamps."), **columns)
    assert found("stamps")["results"][0]["stale"] is stale


def test_a_site_that_was_shut_out_is_not_found() -> None:
    row = keep("bad.example", an_action("stamps", "Stamps."))
    store.shut_out(row)
    assert names("stamps") == []
    assert not IndexedEntry.objects.exists()
    assert is_sound()


def test_a_site_taken_in_anew_leaves_nothing_of_before() -> None:
    keep("a.example", an_action("stamps", "Stamps."), an_action("paper", "Paper."))
    keep("b.example", an_action("stamps", "Stamps."))
    row = keep("a.example", an_action("ink", "Ink for printers."))
    assert names("stamps") == ["b.example/stamps"]
    assert names("ink") == ["a.example/ink"]
    assert is_sound()
    store.forget([row.pk])
    assert names("ink") == []
    assert is_sound()


def test_a_common_word_reads_a_bounded_number_of_rows_and_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "LOOKED_AT", 10)
    for number in range(20):
        keep(f"s{number:02}.example", an_action("stamps", "Stamps." + " And more." * number))
    assert names("stamps", limit=3) == ["s00.example/stamps", "s01.example/stamps", "s02.example/stamps"]


def test_what_is_chosen_by_rare_terms_is_ordered_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    keep("a.example", an_action("sell", "Blue stamps."))
    keep("b.example", an_action("sell", "Blue stamps for letters."))
    for number in range(6):
        keep(f"s{number}.example", an_action("sell", "Letters."))
    whole = names("blue letters", limit=50)
    monkeypatch.setattr(finding, "LOOKED_AT", 4)
    assert names("blue letters", limit=2) == whole[:2] == ["b.example/sell", "a.example/sell"]


def test_a_query_costs_five_statements_with_its_limit(django_assert_num_queries: Any) -> None:
    for number in range(20):
        keep(f"s{number}.example", an_action("stamps", "Stamps and paper."))
    found("stamps")
    with django_assert_num_queries(5):
        found("buy stamps paper", limit=20)


def test_no_site_can_fill_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_POSTINGS", 20)
    keep("big.example", *(an_action(f"stamps_{n:02}", "Stamps and paper and ink.") for n in range(50)))
    assert IndexedPosting.objects.count() < 40
    assert names("stamps", per_site=50) != []
    assert is_sound()


@override_settings(AGENTWEB={"ORIGIN": "https://shop.example"})
def test_without_being_named_the_room_is_off() -> None:
    # What a site that starts with these settings includes; agentweb.urls was read under those of other tests, maybe.
    site = type("site", (), {"urlpatterns": (*rooms.well_known(), *rooms.urlpatterns())})
    with override_settings(ROOT_URLCONF=site):
        assert Client().get("/.well-known/agent-actions.json").status_code == 200
        assert Client().get(FIND, {"q": "a"}).status_code == 404


def test_the_answer_is_nobody_s_to_keep_and_counts_against_a_limit() -> None:
    answer = Client().get(FIND, {"q": "a"})
    assert answer["Cache-Control"] == "no-store"
    assert answer["RateLimit-Policy"].startswith('"address"')
    assert json.loads(answer.content) == {"query": "a", "results": [], "next_cursor": None}
