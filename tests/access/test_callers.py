"""A caller is plain values and asks the database once."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentweb.access.callers import AGENT, PERSON, Caller, anonymous
from agentweb.wire.grants import attenuate, parse_grant
from tests.access.signing import AGENT as KEY
from tests.access.signing import OTHER, person_grant


def test_an_anonymous_caller_has_an_address_and_nothing_else() -> None:
    caller = anonymous("203.0.113.7")
    assert (caller.is_anonymous, caller.address, caller.scopes, caller.grant, caller.root) == (
        True,
        "203.0.113.7",
        (),
        None,
        None,
    )
    assert caller.user.is_anonymous
    assert caller.rate_key == ""


def test_the_leaf_is_the_grant_that_is_held_and_the_root_pays() -> None:
    chain = tuple(
        parse_grant(document)
        for document in attenuate([person_grant(delegate=1)], KEY, subject=OTHER.public, scopes=["cart:read"])
    )
    caller = Caller(kind=AGENT, subject=OTHER.public, chain=chain)
    assert (caller.root, caller.grant) == chain
    assert caller.scopes == ("cart:read",)
    assert caller.rate_key == KEY.public


def test_the_person_is_read_once_and_only_when_asked_for(person: User) -> None:
    with CaptureQueriesContext(connection) as captured:
        caller = Caller(kind=PERSON, subject=f"user:{person.pk}", user_id=person.pk)
        assert len(captured) == 0
        assert caller.user == caller.user == person
        assert len(captured) == 1


@pytest.mark.django_db
def test_a_person_who_is_gone_is_nobody() -> None:
    assert Caller(kind=AGENT, user_id=12_345).user.is_anonymous
