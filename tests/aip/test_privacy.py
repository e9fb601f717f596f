"""What one visitor sees reaches nobody else: marked values of two people are looked for in every byte."""

from __future__ import annotations

import json
import logging
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from agentweb import AgentError, page
from agentweb.aip import state
from agentweb.catalog.registry import registry
from agentweb.invoke.redaction import is_sensitive
from agentweb.testing import TestAgent
from agentweb.wire import toon
from tests.aip.sites import declare_shop
from tests.site.models import Note
from tests.support.examples import examples
from tests.support.web import send

pytestmark = [
    pytest.mark.usefixtures("catalog", "many_callers", "site_key"),
    pytest.mark.urls("tests.aip.sites"),
]

STEMS = ("/index", "/cart", "/control-panel", "/p/tea", "/staff", "/orders/7", "/orders/8")
ADDRESSES = [
    *(f"{stem}{suffix}" for stem in STEMS for suffix in (".json", ".toon")),
    "/sitemap.toon",
    "/sitemap.agents.json",
]
QUERIES = ("", "?include=denied", "?a=b")


def everything(get: Any) -> bytes:
    """Headers and content of every address, in every way to ask for it."""
    answers = [get(address + query) for address in ADDRESSES for query in QUERIES]
    return b"\n".join(
        b"\n".join(f"{name}: {value}".encode() for name, value in answer.items()) + answer.content
        for answer in answers
    )


@pytest.mark.requirement("AIP-5.4", "AIP-5.6", "AIP-3.4")
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_what_a_person_sees_is_in_no_public_document_and_in_nobody_else_s(order: tuple[int, ...]) -> None:
    declare_shop()
    people = [
        User.objects.create_user("secretada", id=7, password="hunter2"),
        User.objects.create_user("secreteve", id=8, password="hunter2"),
    ]
    agents = [TestAgent.with_session(scopes=["*"], user=person) for person in people]
    readers = [lambda path: send("GET", path), agents[0].get, agents[1].get]
    for _round in range(2):
        seen = {which: everything(readers[which]) for which in order}
        assert b"secretada" in seen[1]
        assert b"secreteve" in seen[2]
        for which, foreign in ((0, b"secretada"), (0, b"secreteve"), (1, b"secreteve"), (2, b"secretada")):
            assert foreign not in seen[which]
        assert all(b"hunter2" not in text and b"password" not in text for text in seen.values())
        assert b'{"pk":7}' not in seen[2]


def shown(value: Any) -> Any:
    """The session manifest's state of a page that shows this."""
    page("/cart", title="Cart", state=lambda ctx: value)
    return TestAgent.with_session(scopes=["a"]).get("/cart.json")


def names_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(names_in, value.values()))
    return set().union(*map(names_in, value)) if isinstance(value, list) else set()


WORDS = (
    "password",
    "passwd",
    "secret",
    "token",
    "api_key",
    "apiKey",
    "API-KEY",
    "creditCard",
    "credit-card",
    "cvv",
)
AROUND = st.sampled_from(["", "my", "user", "old", "x"])


def spelled(before: str, word: str, after: str, style: str) -> str:
    parts = [
        part
        for part in (before, *word.replace("-", "_").replace("K", "_k").lower().split("_"), after)
        if part
    ]
    if style == "camel":
        return parts[0] + "".join(part.title() for part in parts[1:])
    return style.join(parts)


SENSITIVE = st.builds(
    spelled, AROUND, st.sampled_from(["password", "passwd", "secret", "token", "api_key", "credit_card", "cvv"]),
    AROUND, st.sampled_from(["_", "-", "camel"]),
)  # fmt: skip
NAMES = (
    st.sampled_from([*WORDS, "name", "total", "tokens_used", "secretary"])
    | SENSITIVE
    | st.text("abK_-", max_size=4)
)
STATES = st.dictionaries(
    NAMES,
    st.recursive(
        st.sampled_from([1, "SECRET-VALUE", None, True, Decimal("4.20")]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
        max_leaves=12,
    ),
    max_size=4,
)


@pytest.mark.requirement("AIP-3.4")
@given(value=STATES)
@hypothesis_settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_nothing_named_like_a_password_is_in_a_manifest_at_any_depth(value: Any) -> None:
    with registry.only():
        page("/cart", title="Cart", state=lambda ctx: value)
        agent = TestAgent.with_session(scopes=["a"])
        found = agent.get("/cart.json").json()["state"]
        as_toon = toon.loads(agent.get("/cart.toon").content, max_bytes=1_000_000)
    assert isinstance(as_toon, dict)
    assert as_toon["state"] == found
    assert [name for name in names_in(found) if is_sensitive(name)] == []
    assert names_in(found) >= {name for name in value if not is_sensitive(name)}


@pytest.mark.parametrize("style", ["_", "-", "camel"])
@pytest.mark.parametrize("word", ["password", "secret", "token", "api_key", "credit_card", "cvv"])
def test_each_word_is_known_in_each_spelling(word: str, style: str) -> None:
    assert is_sensitive(spelled("my", word, "", style))
    assert not is_sensitive("tokens_used")


def test_a_site_s_own_names_are_removed_too(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "SENSITIVE_NAMES": ["iban"]}
    assert shown({"iban": "DE00", "IBAN_owner": "x", "urban": 1}).json()["state"] == {"urban": 1}


def test_what_was_removed_is_logged_once_for_each_page(caplog: Any) -> None:
    state._told.clear()
    page("/cart", title="Cart", state=lambda ctx: {"token": "a", "deep": [{"cvv": 1}]})
    page("/", title="Front", state=lambda ctx: {"token": "a"})
    agent = TestAgent.with_session(scopes=["a"])
    with caplog.at_level(logging.WARNING, "agentweb.aip"):
        for path in ("/cart.json", "/cart.toon", "/cart.json", "/index.json"):
            assert agent.get(path).status_code == 200
    assert [record.getMessage().rpartition(" removed: ")[2] for record in caplog.records] == [
        "cvv, token",
        "token",
    ]


# -- what a state function may return


@pytest.mark.requirement("AIP-3.2")
def test_models_querysets_and_python_s_own_values_become_plain_json(
    django_assert_max_num_queries: Any,
) -> None:
    for number in range(3):
        Note.objects.create(text=f"note {number}")
    user = User.objects.create_user("ada", password="hunter2", email="ada@shop.example")
    page("/cart", title="Cart", state=lambda ctx: {
        "notes": Note.objects.order_by("pk"),
        "some": Note.objects.order_by("pk")[:1],
        "names": Note.objects.order_by("pk").values_list("text", flat=True),
        "only": Note.objects.only("pk").first(),
        "me": ctx.user,
        "day": date(2026, 1, 2),
        "at": datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
        "price": Decimal("4.20"),
        "id": UUID(int=5),
        "pair": (1, 2),
    })  # fmt: skip
    agent = TestAgent.with_session(scopes=["a"], user=user)
    agent.get("/cart.json")
    with django_assert_max_num_queries(10):
        found = agent.get("/cart.json").json()["state"]
    assert [each["text"] for each in found["notes"]] == ["note 0", "note 1", "note 2"]
    assert [each["text"] for each in found["some"]] == ["note 0"]
    assert found["names"] == ["note 0", "note 1", "note 2"]
    assert list(found["only"]) == ["id"]
    assert found["me"]["email"] == "ada@shop.example"
    assert "password" not in found["me"]
    assert (found["day"], found["at"], found["price"]) == ("2026-01-02", "2026-01-02T03:04:00Z", 4.2)
    assert (found["id"], found["pair"]) == ("00000000-0000-0000-0000-000000000005", [1, 2])


def test_a_form_shows_what_is_in_it_but_no_password() -> None:
    class Login(forms.Form):
        name = forms.CharField()
        pin = forms.CharField(widget=forms.PasswordInput)

    assert shown({"form": Login({"name": "ada", "pin": "hunter2"})}).json()["state"] == {
        "form": {"name": "ada"}
    }


@pytest.mark.requirement("AIP-3.3")
@pytest.mark.parametrize("function", [None, lambda ctx: None, lambda ctx: {}], ids=["none", "None", "{}"])
def test_a_page_that_gives_no_state_has_an_empty_one(function: Any) -> None:
    page("/cart", title="Cart", state=function)
    assert TestAgent.with_session(scopes=["a"]).get("/cart.json").json()["state"] == {}


def test_a_state_function_may_be_async() -> None:
    async def cart(ctx: Any) -> Any:
        return {"notes": await Note.objects.acount(), "user": str(await ctx.request.auser())}

    page("/cart", title="Cart", state=cart)
    assert TestAgent.with_session(scopes=["a"]).get("/cart.json").json()["state"]["notes"] == 0


def deep() -> Any:
    value: Any = {}
    for _ in range(70):
        value = {"a": value}
    return value


def endless() -> Any:
    value: dict[str, Any] = {}
    value["a"] = value
    return value


@pytest.mark.requirement("AIP-3.2")
@pytest.mark.parametrize(
    "value",
    [
        {"a": object()},
        {"a": {1, 2}},
        {"a": b"MARKED"},
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": "\ud800"},
        {1: "MARKED"},
        ["MARKED"],
        "MARKED",
        deep(),
        endless(),
        {"a": "MARKED" * 50_000},
    ],
    ids=[
        "object",
        "set",
        "bytes",
        "nan",
        "inf",
        "surrogate",
        "key",
        "list",
        "text",
        "deep",
        "endless",
        "large",
    ],
)
def test_what_cannot_be_sent_is_a_state_error_without_data(value: Any, caplog: Any) -> None:
    answer = shown(value)
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "state_error")
    assert b"MARKED" not in answer.content
    assert answer["Cache-Control"] == "no-store"
    told = [record for record in caplog.records if record.name == "agentweb.aip"]
    assert answer.json()["error"]["request_id"] in told[0].getMessage()
    assert "page '/cart'" in told[0].getMessage()


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("and what it says cannot be said")


@pytest.mark.parametrize("error", [Unspeakable(), Exception()], ids=["unspeakable", "silent"])
def test_a_state_function_that_crashes_without_a_word_is_a_state_error_too(
    error: Exception, caplog: Any
) -> None:
    def crashing(ctx: Any) -> Any:
        raise error

    page("/cart", title="Cart", state=crashing)
    answer = TestAgent.with_session(scopes=["a"]).get("/cart.json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "state_error")
    assert f"cannot be sent: {type(error).__name__}" in caplog.text


def test_a_state_function_that_crashes_tells_the_log_and_nobody_else(caplog: Any) -> None:
    def crashing(ctx: Any) -> Any:
        raise RuntimeError("postgres://user:hunter2@internal/db")

    page("/cart", title="Cart", state=crashing)
    answer = TestAgent.with_session(scopes=["a"]).get("/cart.json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "state_error")
    assert b"hunter2" not in answer.content
    assert "hunter2" in caplog.text
    # Nobody's state is asked for in public.
    assert send("GET", "/cart.json").status_code == 200


@pytest.mark.parametrize("error", [Http404("row 5 of secrets"), PermissionDenied("hunter2")], ids=repr)
def test_a_state_function_may_say_that_there_is_no_such_page(error: Exception) -> None:
    def missing(ctx: Any) -> Any:
        raise error

    page("/cart", title="Cart", state=missing)
    answer = TestAgent.with_session(scopes=["a"]).get("/cart.json")
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == "Nothing is here."


def test_a_state_function_may_refuse_in_words_of_its_own() -> None:
    def closed(ctx: Any) -> Any:
        raise AgentError("closed", "The shop opens at nine.")

    page("/cart", title="Cart", state=closed)
    answer = TestAgent.with_session(scopes=["a"]).get("/cart.json")
    assert (answer.status_code, answer.json()["error"]["message"]) == (409, "The shop opens at nine.")


def test_the_largest_state_is_a_setting(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "PAGE_STATE_BYTES": 1_024}
    room = 1_024 - len(json.dumps({"a": ""}, separators=(",", ":")))
    assert shown({"a": "x" * room}).status_code == 200
    with registry.only():
        assert shown({"a": "x" * (room + 1)}).status_code == 500


def test_a_queryset_without_end_is_not_read_to_its_end(monkeypatch: Any) -> None:
    monkeypatch.setattr(state, "MAX_ROWS", 2)
    Note.objects.bulk_create([Note(text="x") for _ in range(3)])
    assert shown({"notes": Note.objects.all()}).status_code == 500
    with registry.only():
        assert shown({"notes": Note.objects.all()[:2]}).status_code == 200
