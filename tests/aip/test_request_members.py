"""What is wrong with the members of a body: all of it, at its exact place, and never more than a caller can use."""

from __future__ import annotations

from typing import Any

import pytest

from agentweb.aip import invoke, sessions
from agentweb.wire.errors import InputError


def refused(read: Any, sent: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        read(sent)
    return caught.value


def messages(error: InputError) -> dict[str, str]:
    return {
        each["field"]: each["message"] for each in error.problems or [] if each["code"] == "unknown_field"
    }


READERS = pytest.mark.parametrize("read", [sessions.read, invoke.read], ids=["session", "invocation"])


@READERS
def test_of_many_problems_a_hundred_are_listed_and_the_rest_is_told(read: Any) -> None:
    error = refused(read, {f"m{number:04}": 1 for number in range(5_000)})
    assert error.problems is not None
    assert len(error.problems) == 100
    assert error.extra == {"truncated": True}


@READERS
def test_a_hundred_problems_are_all_of_them(read: Any) -> None:
    sent = {f"m{number}": 1 for number in range(99)}
    error = refused(read, sent)
    assert error.problems is not None
    assert len(error.problems) == 100
    assert error.extra == {}


def test_the_members_of_a_mandate_are_counted_too(db: None) -> None:
    error = refused(
        sessions.read, {"client_name": "a", "mandate": {f"m{number}": 1 for number in range(200)}}
    )
    assert error.problems is not None
    assert len(error.problems) == 100
    assert error.extra == {"truncated": True}


@READERS
def test_long_names_do_not_make_a_long_answer(read: Any) -> None:
    error = refused(read, {f"{number}" + "x" * 5_000: 1 for number in range(100)})
    assert len(str(error.problems)) < 100_000


@pytest.mark.parametrize(
    ("name", "pointer"),
    [("a.b", "/a.b"), ("a/b", "/a~1b"), ("a~b", "/a~0b"), ("~1", "/~01"), ("", "/"), ("..", "/..")],
)
def test_pointers_are_those_of_rfc_6901(db: None, name: str, pointer: str) -> None:
    error = refused(invoke.read, {"actionId": "a", name: 1})
    assert [each["pointer"] for each in error.problems or []] == [pointer]
    error = refused(sessions.read, {"client_name": "a", "mandate": {"currency": "XXX?", name: 1}})
    assert {each["pointer"] for each in error.problems or []} == {"/mandate/currency", f"/mandate{pointer}"}


def test_a_member_that_is_not_known_is_told_which_ones_are(db: None) -> None:
    error = refused(
        sessions.read, {"client_name": "a", "tea": 1, "mandat": {}, "mandate": {"per-tx": "1.00"}}
    )
    assert messages(error) == {
        "tea": "There is no member 'tea' here; known here: client_name, scopes, mandate, pages.",
        "mandat": "There is no member 'mandat' here; did you mean 'mandate'?",
        "mandate.per-tx": "There is no member 'per-tx' here; did you mean 'per_tx'?",
    }
    [allowed] = {tuple(each["allowed"]) for each in error.problems or [] if "allowed" in each}
    assert allowed == ("client_name", "scopes", "mandate", "pages")


def test_an_input_without_its_wrapper_is_told_where_it_goes() -> None:
    bare = refused(invoke.read, {"actionId": "buy", "product": "tea"})
    assert messages(bare) == {
        "product": "There is no member 'product' here; put it into 'input': {\"input\": {…}}."
    }
    wrapped = refused(invoke.read, {"actionId": "buy", "input": {}, "product": "tea"})
    assert messages(wrapped)["product"].endswith("known here: actionId, input, page.")
