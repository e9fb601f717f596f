"""People's own keys: whose they are, what proves it, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from agentweb.access import grants, principals, site_keys
from agentweb.access.models import PrincipalKey
from agentweb.testing import clock
from agentweb.wire.enrolment import sign_enrolment
from agentweb.wire.errors import AuthenticationError, InputError
from agentweb.wire.signing import SigningKey, sign_document
from tests.access.signing import AGENT, OTHER, PERSON, SITE, deliver, person_grant, signed

pytestmark = pytest.mark.django_db

NOON = 1_790_000_000.0


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create_user("bob")


def problems(user: Any, public: str, label: str = "", **more: Any) -> list[tuple[str, str]]:
    before = PrincipalKey.objects.count()
    with pytest.raises(InputError) as caught:
        principals.enrol(user, public, label, **more)
    assert PrincipalKey.objects.count() == before
    return [(problem["field"], problem["code"]) for problem in caught.value.problems or []]


def test_an_enrolled_key_issues_grants_for_its_person(person: User) -> None:
    row = principals.enrol(person, PERSON.public, "laptop")
    assert (row.user, row.label, row.revoked_at) == (person, "laptop", None)
    assert deliver(signed(grant=[person_grant()])).user == person
    assert principals.owner_id(PERSON.public) == person.pk


def test_a_key_belongs_to_one_account(person: User, bob: User) -> None:
    principals.enrol(person, PERSON.public)
    assert problems(person, PERSON.public) == [("key", "enrolled")]
    assert problems(bob, PERSON.public) == [("key", "taken")]


def test_a_key_that_was_taken_off_comes_back_nowhere(person: User, bob: User) -> None:
    principals.enrol(person, PERSON.public)
    assert principals.revoke(PERSON.public) is True
    assert principals.owner_id(PERSON.public) is None
    for user in (person, bob):
        assert problems(user, PERSON.public) == [("key", "revoked")]
    with pytest.raises(AuthenticationError) as caught:
        deliver(signed(grant=[person_grant()]))
    assert caught.value.code == "grant_revoked"


def test_the_key_of_the_site_and_a_revoked_key_are_refused(person: User) -> None:
    assert problems(person, site_keys.ensure_active_key().public) == [("key", "site_key")]
    grants.revoke(AGENT.public)
    assert problems(person, AGENT.public) == [("key", "revoked")]


@pytest.mark.parametrize(
    "public", ["", "ed25519:", "ed25519:" + "A" * 43, PERSON.public[:-1], PERSON.public.upper(), "x" * 500]
)
def test_what_is_no_key_is_refused(person: User, public: str) -> None:
    assert problems(person, public) == [("key", "format")]


def test_everything_wrong_is_told_at_once(person: User) -> None:
    person.is_active = False
    assert problems(person, site_keys.ensure_active_key().public, "two\nlines", proof={}) == [
        ("key", "site_key"),
        ("label", "format"),
        ("user", "inactive"),
        ("proof", "proof"),
    ]


def test_the_keys_that_count_come_first(person: User) -> None:
    with clock(NOON) as time:
        for key in (PERSON, AGENT, OTHER):
            principals.enrol(person, key.public)
            time.forward(1)
        principals.revoke(OTHER.public)
    assert [row.public for row in principals.keys_of(person)] == [AGENT.public, PERSON.public, OTHER.public]


def prove(user: User, key: SigningKey = PERSON, site: str = SITE, **changed: Any) -> dict[str, Any]:
    return {**sign_enrolment(key, site=site, challenge=principals.challenge(user)), **changed}


def test_a_signature_over_the_sites_own_words_proves_the_key(person: User) -> None:
    assert principals.enrol(person, PERSON.public, proof=prove(person), site=SITE).user == person


def test_a_proof_is_for_one_person_one_key_and_one_site(person: User, bob: User) -> None:
    grant_label = sign_document(prove(person), PERSON, label="agent-grant/0.1")
    for proof in (
        prove(bob),
        prove(person, key=OTHER),
        prove(person, site="elsewhere.example"),
        prove(person, sig="A" * 86),
        prove(person, sig=5),
        prove(person, challenge="mine"),
        prove(person, challenge=5),
        prove(person, more=1),
        prove(person, type="agent-grant/0.1"),
        {**sign_enrolment(PERSON, site=SITE, challenge="made up")},
        grant_label,
        {},
        [],
        "proof",
        7,
    ):
        assert problems(person, PERSON.public, proof=proof, site=SITE) == [("proof", "proof")]
    assert problems(person, PERSON.public, proof=prove(person)) == [("proof", "proof")]


def test_a_challenge_can_be_answered_for_ten_minutes(person: User, monkeypatch: pytest.MonkeyPatch) -> None:
    proof = prove(person)
    monkeypatch.setattr(principals, "CHALLENGE_SECONDS", -1)
    assert problems(person, PERSON.public, proof=proof, site=SITE) == [("proof", "proof")]


def test_a_person_who_is_deactivated_takes_their_grants_along(person: User) -> None:
    principals.enrol(person, PERSON.public)
    deliver(signed(grant=[person_grant()]))
    User.objects.update(is_active=False)
    with pytest.raises(AuthenticationError) as caught:
        deliver(signed(grant=[person_grant()]))
    assert caught.value.code == "grant_revoked"
