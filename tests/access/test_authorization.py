"""Which caller may run which action (AGENT_ACTIONS 2.4)."""

from __future__ import annotations

from typing import Any

import pytest

from agentweb.access.authorization import authorize, require_scopes
from agentweb.access.callers import AGENT, PERSON, SESSION, SITE, Caller, anonymous
from agentweb.wire.errors import AgentError
from agentweb.wire.grants import parse_grant
from tests.access.signing import AGENT as KEY
from tests.access.signing import person_grant

EFFECTS = ["read", "write", "send", "spend", "delete"]


def holder(*scopes: str, kind: str = AGENT) -> Caller:
    grant = parse_grant(person_grant(scopes=list(scopes)))
    return Caller(kind=kind, subject=KEY.public, chain=(grant,))


def outcome(caller: Caller, effect: str, scope: str | None) -> str:
    try:
        authorize(caller, action="add_to_cart", effect=effect, scope=scope)
    except AgentError as error:
        return error.code
    return "allowed"


@pytest.mark.parametrize(
    "caller",
    [anonymous("::1"), Caller(kind=AGENT, subject=KEY.public), holder("cart:*"), Caller(kind=PERSON)],
)
def test_a_read_without_scope_is_open_to_everyone(caller: Caller) -> None:
    assert outcome(caller, "read", None) == "allowed"


@pytest.mark.parametrize("caller", [anonymous("::1"), Caller(kind=AGENT, subject=KEY.public)])
@pytest.mark.parametrize("effect", EFFECTS)
def test_without_a_grant_everything_else_is_refused(caller: Caller, effect: str) -> None:
    assert outcome(caller, effect, "cart:write") == "grant_required"
    assert effect == "read" or outcome(caller, effect, None) == "grant_required"


@pytest.mark.parametrize("kind", [AGENT, SESSION])
@pytest.mark.parametrize("effect", EFFECTS)
def test_any_grant_opens_an_action_without_scope(kind: str, effect: str) -> None:
    assert outcome(holder("unrelated", kind=kind), effect, None) == "allowed"


@pytest.mark.parametrize("kind", [AGENT, SESSION])
@pytest.mark.parametrize(
    ("scopes", "needed", "expected"),
    [
        (["cart:write"], "cart:write", "allowed"),
        (["cart:*"], "cart:write", "allowed"),
        (["cart:*"], "cart:item:add", "allowed"),
        (["*"], "cart:write", "allowed"),
        (["search", "cart:*"], "cart:write", "allowed"),
        (["cart:*"], "cart", "insufficient_scope"),
        (["cart:*"], "cartel:write", "insufficient_scope"),
        (["cart"], "cart:write", "insufficient_scope"),
        (["cart:read"], "cart:write", "insufficient_scope"),
    ],
)
@pytest.mark.parametrize("effect", EFFECTS)
def test_an_action_with_scope_needs_a_grant_that_covers_it(
    kind: str, scopes: list[str], needed: str, expected: str, effect: str
) -> None:
    assert outcome(holder(*scopes, kind=kind), effect, needed) == expected


@pytest.mark.parametrize("kind", [PERSON, SITE])
@pytest.mark.parametrize("effect", EFFECTS)
def test_a_person_and_the_site_itself_need_no_grant(kind: str, effect: str) -> None:
    assert outcome(Caller(kind=kind), effect, "cart:write") == "allowed"


def test_only_the_leaf_of_a_chain_counts() -> None:
    root, leaf = (parse_grant(person_grant(scopes=[scope])) for scope in ("*", "cart:read"))
    caller = Caller(kind=AGENT, subject=KEY.public, chain=(root, leaf))
    assert outcome(caller, "write", "cart:write") == "insufficient_scope"


def raised(caller: Caller, **kwargs: Any) -> AgentError:
    with pytest.raises(AgentError) as caught:
        authorize(caller, action="add_to_cart", **kwargs)
    return caught.value


def test_grant_required_says_which_scope_and_how_to_get_a_grant() -> None:
    error = raised(anonymous("::1"), effect="write", scope="cart:write")
    assert (error.status, error.extra) == (401, {"required_scope": ["cart:write"]})
    assert error.headers == {"WWW-Authenticate": 'AgentGrant scope="cart:write"'}
    assert "add_to_cart" in error.message
    assert "cart:write" in error.message
    error = raised(anonymous("::1"), effect="delete", scope=None)
    assert (error.extra, error.headers) == ({}, {"WWW-Authenticate": "AgentGrant"})


def test_insufficient_scope_names_everything_that_is_missing_at_once() -> None:
    error = raised(holder("search"), effect="write", scope="cart:write")
    assert (error.status, error.extra) == (403, {"required_scope": ["cart:write"]})
    with pytest.raises(AgentError) as caught:
        require_scopes(holder("cart:*"), ["cart:write", "checkout", "orders:read"], what="The flow buy")
    assert caught.value.extra == {"required_scope": ["checkout", "orders:read"]}
