"""``manage.py enrol_key``: a person's own key, on staff's word."""

from __future__ import annotations

import io
import json

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from agentweb.access.models import PrincipalKey
from agentweb.wire.errors import AuthenticationError
from tests.access.signing import AGENT, OTHER, PERSON, deliver, person_grant, signed

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ann(db: None) -> User:
    return User.objects.create_user("ann")


def enrol(*arguments: str) -> str:
    out = io.StringIO()
    call_command("enrol_key", *arguments, stdout=out)
    return out.getvalue()


def test_grants_of_the_key_count_until_it_is_taken_off(ann: User) -> None:
    assert "count from now on" in enrol("ann", PERSON.public, "--label", "laptop")
    assert deliver(signed(grant=[person_grant()])).user == ann
    assert enrol("ann", "--list").splitlines() == [f"{PERSON.public}  counts  laptop"]
    assert "is revoked" in enrol("ann", PERSON.public, "--remove")
    with pytest.raises(AuthenticationError) as caught:
        deliver(signed(grant=[person_grant()]))
    assert caught.value.code == "grant_revoked"
    assert "was revoked before" in enrol("ann", PERSON.public, "--remove")
    assert "revoked 20" in enrol("ann", "--list")


def test_programs_get_json() -> None:
    enrol("ann", PERSON.public)
    answer = json.loads(enrol("ann", OTHER.public, "--label", "phone", "--json"))
    assert [(each["key"], each["label"], each["revoked_at"]) for each in answer["keys"]] == [
        (OTHER.public, "phone", None),
        (PERSON.public, "", None),
    ]
    assert json.loads(enrol("ann", "--list", "--json"))["done"] == ""


def test_what_is_wrong_is_told_at_once() -> None:
    User.objects.create_user("bob", is_active=False)
    with pytest.raises(CommandError) as caught:
        enrol("bob", "ed25519:short", "--label", "l" * 101)
    for field in ("key", "user", "label"):
        assert f"- {field}: " in str(caught.value)
    assert not PrincipalKey.objects.exists()


@pytest.mark.parametrize("arguments", [["ann"], ["ann", AGENT.public, "--list"]])
def test_a_key_or_the_list_is_asked_for(arguments: list[str]) -> None:
    with pytest.raises(CommandError, match="--list alone"):
        enrol(*arguments)


def test_an_unknown_person_or_key_is_said_to_be_one() -> None:
    assert "no key" in enrol("ann", "--list")
    with pytest.raises(CommandError, match="no user 'eve'"):
        enrol("eve", PERSON.public)
    with pytest.raises(CommandError, match="no such key"):
        enrol("ann", PERSON.public, "--remove")
