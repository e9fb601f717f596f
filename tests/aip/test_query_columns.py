"""A password leaves no page, whatever the query calls it and whatever it makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import (
    BooleanField,
    Case,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    Func,
    OuterRef,
    Q,
    Subquery,
    Value,
    When,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Coalesce, Concat, JSONObject, Length, Lower, Substr, Upper
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from agentweb import page
from agentweb.aip import state
from agentweb.aip.query_columns import secret_columns
from agentweb.catalog.registry import registry
from agentweb.testing import TestAgent
from tests.site.models import Book, Writer
from tests.support.examples import examples

pytestmark = [
    pytest.mark.usefixtures("catalog", "many_callers", "site_key"),
    pytest.mark.urls("tests.aip.sites"),
]

SALT = "MARKEDsalt"
HASH = f"pbkdf2_sha256$1000000${SALT}$2Q5qDQH0tGKBbBrgFnvNLKfVYQqX8W0Z0hF0o0bYbXk="
PARTS = (SALT.lower(), "2q5qdqh0tgkb", "pbkdf2_sha256$1")

TEXT = User._meta.get_field("username")

EXPRESSIONS: dict[str, Callable[[str], Any]] = {
    "f": F,
    "concat": lambda path: Concat(Value("x:"), path, Value(":y")),
    "substr": lambda path: Substr(path, 15, 20),
    "deep": lambda path: Upper(Substr(Lower(Concat(Value(""), path)), 5, 40)),
    "coalesce": lambda path: Coalesce(path, Value("none")),
    "cast": lambda path: Cast(path, TEXT),
    "case": lambda path: Case(When(pk__gt=0, then=F(path)), default=Value("")),
    "length": Length,
    "func": lambda path: Func(F(path), function="TRIM", output_field=TEXT),
    "json": lambda path: JSONObject(kept=path),
    "said to be true or false": lambda path: Upper(F(path), output_field=BooleanField()),
    "wrapped as true or false": lambda path: ExpressionWrapper(Upper(F(path)), output_field=BooleanField()),
}
SHAPES: dict[str, Callable[[Any, Any], Any]] = {
    "values": lambda rows, made: rows.values("pk", h=made),
    "annotated": lambda rows, made: rows.annotate(h=made).values("pk", "h"),
    "annotated, all": lambda rows, made: rows.values("pk").annotate(h=made),
    "list": lambda rows, made: rows.annotate(h=made).values_list("pk", "h"),
    "flat": lambda rows, made: rows.annotate(h=made).values_list("h", flat=True),
    "named": lambda rows, made: rows.annotate(h=made).values_list("pk", "h", named=True),
    "expression": lambda rows, made: rows.values_list("pk", made),
    "alias": lambda rows, made: rows.alias(a=made).annotate(h=F("a")).values("pk", "h"),
    "rows": lambda rows, made: rows.annotate(h=made),
}
SOURCES: dict[str, tuple[Callable[[], Any], str]] = {
    "user": (User.objects.all, "password"),
    "book": (Book.objects.all, "owner__password"),
    "writer": (Writer.objects.all, "books__owner__password"),
}


@pytest.fixture(autouse=True)
def library(db: None) -> User:
    ada = User.objects.create(username="ada", password=HASH)
    writer = Writer.objects.create(name="Jane")
    Book.objects.create(
        slug="tea", title="Tea", price=4, added=datetime(2026, 1, 2, tzinfo=UTC), key=UUID(int=1), writer=writer,
        owner=ada,
    )  # fmt: skip
    return ada


def shown(value: Any) -> tuple[int, Any, str]:
    """(status, state, the whole answer in lower case) of a page that shows this."""
    with registry.only():
        page("/cart", title="Cart", state=lambda ctx: value)
        answer = TestAgent.with_session(scopes=["a"]).get("/cart.json")
    body = json.loads(answer.content)
    return answer.status_code, body.get("state"), answer.content.decode().lower()


def check_hidden(value: Any) -> None:
    status, _state, text = shown(value)
    assert status in {200, 500}, text
    assert not [part for part in PARTS if part in text]
    if status == 500:
        assert '"state_error"' in text


@pytest.mark.requirement("AIP-3.4")
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("made", EXPRESSIONS)
def test_what_is_made_of_a_password_is_not_shown(made: str, shape: str, source: str) -> None:
    rows, path = SOURCES[source]
    queryset = SHAPES[shape](rows(), EXPRESSIONS[made](path))
    marked = dict(secret_columns(queryset))
    assert shape == "rows" or any(marked.values())
    assert not marked.get("pk")
    check_hidden({"q": queryset})


QUERIES: list[Callable[[], Any]] = [
        User.objects.values,
        User.objects.values_list,
        lambda: User.objects.values_list(named=True),
        lambda: User.objects.values_list("password", flat=True),
        lambda: User.objects.values("password"),
        lambda: Book.objects.values("title", "owner__password"),
        lambda: Writer.objects.values_list("books__owner__password"),
        lambda: User.objects.values(h=Subquery(User.objects.filter(pk=OuterRef("pk")).values("password")[:1])),
        lambda: User.objects.values(
            h=Subquery(User.objects.filter(pk=OuterRef("pk")).values(x=Lower("password"))[:1])
        ),
        lambda: User.objects.values(h=RawSQL("password", ())),
        lambda: User.objects.values(h=RawSQL("lower(auth_user.password)", ())),
        lambda: User.objects.extra(select={"h": "password"}).values("h"),
        lambda: User.objects.extra(select={"h": "substr(password, 3)"}).values_list("h", "pk"),
        lambda: User.objects.values(h=Func(template="substr(password, 3)", output_field=TEXT)),
        lambda: User.objects.values_list("username").union(User.objects.values_list("password")),
        lambda: User.objects.values("username").union(User.objects.values("password")),
        lambda: User.objects.values(n=F("username")).union(User.objects.values(n=Substr("password", 3))),
        lambda: list(User.objects.values_list("password", flat=True)),
        lambda: list(User.objects.values(h=F("password"))),
        lambda: list(User.objects.values_list("pk", "password", named=True)),
        lambda: {row.password: row.pk for row in User.objects.all()},
        lambda: [f"ada has {row.password}." for row in User.objects.all()],
        lambda: User.objects.annotate(h=F("password")).get(),
        lambda: Book.objects.select_related("owner"),
        lambda: Session.objects.values(k=F("session_key")),
    ]  # fmt: skip


@pytest.mark.requirement("AIP-3.4")
@pytest.mark.parametrize(
    "query",
    QUERIES,
    ids=[f"query {number}" for number in range(len(QUERIES))],
)
def test_no_query_shows_one(query: Any) -> None:
    check_hidden({"q": query(), "deep": [{"q": query()}]})


def test_values_leave_the_secret_out_and_lists_of_values_are_refused(caplog: Any) -> None:
    state._told.clear()
    rows = User.objects.order_by("pk")
    assert shown({"q": rows.values("username", h=F("password"))})[:2] == (200, {"q": [{"username": "ada"}]})
    assert "removed: h" in caplog.text
    assert shown({"q": rows.values_list("username", "password")})[0] == 500
    assert "values_list() takes password from a secret" in caplog.text


def test_what_only_asks_about_a_secret_is_shown() -> None:
    mine = User.objects.filter(pk=OuterRef("owner"), password__startswith="pbk")
    found = shown({
        "can": User.objects.values(able=Case(When(password__startswith="!", then=False), default=True)),
        "is": User.objects.values(able=Q(password="")),
        "has": Book.objects.values(owned=Exists(mine)),
        "names": User.objects.filter(password=HASH).values_list("username", flat=True),
        "books": Writer.objects.values("name", count=Count("books")),
        "dates": Book.objects.dates("added", "year"),
    })  # fmt: skip
    assert found[1] == {
        "can": [{"able": True}],
        "is": [{"able": False}],
        "has": [{"owned": True}],
        "names": ["ada"],
        "books": [{"name": "Jane", "count": 1}],
        "dates": ["2026-01-01"],
    }


NESTED = st.recursive(
    st.sampled_from([*SOURCES]).flatmap(
        lambda source: st.builds(
            lambda shape, made: ("query", source, shape, made),
            st.sampled_from([*SHAPES]),
            st.sampled_from([*EXPRESSIONS]),
        )
    )
    | st.sampled_from([HASH, f"x {HASH}", "tea"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", HASH]), inner),
    max_leaves=6,
)


def built(value: Any) -> Any:
    if isinstance(value, tuple):
        _word, source, shape, made = value
        rows, path = SOURCES[source]
        return SHAPES[shape](rows(), EXPRESSIONS[made](path))
    if isinstance(value, dict):
        return {name: built(member) for name, member in value.items()}
    return [built(item) for item in value] if isinstance(value, list) else value


@pytest.mark.requirement("AIP-3.4")
@given(value=NESTED)
@hypothesis_settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_state_shows_a_password_at_any_depth(value: Any) -> None:
    check_hidden({"s": built(value)})
