"""Revocation: every row of what is known, every id of what is not, once and for good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from agentweb.access import grants, site_keys
from agentweb.access.models import Grant, Mandate, PrincipalKey, Revocation
from agentweb.signals import grant_revoked
from agentweb.wire.errors import InputError
from agentweb.wire.grants import Mandate as Terms
from agentweb.wire.grants import attenuate, parse_grant
from agentweb.wire.signing import SigningKey
from tests.access.signing import AGENT, OTHER, PERSON, deliver, enrol, person_grant, signed, site_grant

pytestmark = pytest.mark.django_db

TERMS = Terms("USD", 100, 1_000)


@pytest.fixture
def sent() -> Iterator[list[tuple[str, str]]]:
    received: list[tuple[str, str]] = []

    def receive(sender: str, ident: str, **kwargs: Any) -> None:
        received.append((sender, ident))

    grant_revoked.connect(receive)
    yield received
    grant_revoked.disconnect(receive)


def revoked(model: type[Grant] | type[Mandate]) -> set[str]:
    return set(model.objects.exclude(revoked_at=None).values_list("pk", flat=True))


def family() -> dict[str, str]:
    """A root with a mandate, two children, and a grandchild below the first; all known."""
    root = site_grant(delegate=2, mandate=TERMS)
    first = attenuate(root, AGENT, subject=OTHER.public, delegate=1, mandate=TERMS)
    second = attenuate(root, AGENT, subject=PERSON.public, mandate=TERMS)
    third = SigningKey.from_seed(bytes(range(3, 35)))
    grandchild = attenuate(first, OTHER, subject=third.public, mandate=TERMS)
    for key, chain in ((AGENT, root), (OTHER, first), (PERSON, second), (third, grandchild)):
        deliver(signed(key, chain))
    named = {"root": root, "first": first, "second": second, "grandchild": grandchild}
    return {name: parse_grant(chain[-1]).id for name, chain in named.items()}


@pytest.mark.parametrize(
    ("whose", "gone"),
    [
        ("root", {"root", "first", "second", "grandchild"}),
        ("first", {"first", "grandchild"}),
        ("second", {"second"}),
        ("grandchild", {"grandchild"}),
    ],
)
def test_a_grant_takes_everything_below_it_along(whose: str, gone: set[str]) -> None:
    ids = family()
    assert grants.revoke(ids[whose], "lost") is True
    assert revoked(Grant) == revoked(Mandate) == {ids[name] for name in gone}
    row = Revocation.objects.get()
    assert (row.ident, row.reason, row.expires_at) == (
        ids[whose],
        "lost",
        Grant.objects.get(pk=ids[whose]).expires_at,
    )


def test_a_key_takes_the_grants_it_holds_and_those_it_issued_along() -> None:
    ids = family()
    grants.revoke(OTHER.public)
    assert revoked(Grant) == revoked(Mandate) == {ids["first"], ids["grandchild"]}
    assert Revocation.objects.get().expires_at is None


def test_revoking_again_changes_nothing_and_says_so(
    sent: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    ids = family()
    with django_capture_on_commit_callbacks(execute=True):
        assert grants.revoke(ids["root"]) is True
    at = Grant.objects.get(pk=ids["root"]).revoked_at
    with django_capture_on_commit_callbacks(execute=True):
        assert grants.revoke(ids["root"]) is False
    assert Grant.objects.get(pk=ids["root"]).revoked_at == at
    assert Revocation.objects.count() == 1
    assert sent == [("grant", ids["root"])]


@pytest.mark.django_db(transaction=True)
def test_the_site_hears_of_it_after_the_commit_only(sent: list[Any]) -> None:
    ident = grants.parse_grant(site_grant()[0]).id
    with transaction.atomic():
        grants.revoke(ident)
        assert sent == []
    assert sent == [("grant", ident)]
    with transaction.atomic():
        grants.revoke(OTHER.public)
        transaction.set_rollback(True)
    assert sent == [("grant", ident)]
    assert not Revocation.objects.filter(ident=OTHER.public).exists()


@pytest.mark.django_db(transaction=True)
def test_a_listener_that_fails_leaves_the_revocation_standing() -> None:
    def fail(**kwargs: Any) -> None:
        raise RuntimeError("the listener is broken")

    grant_revoked.connect(fail)
    try:
        assert grants.revoke(AGENT.public) is True
    finally:
        grant_revoked.disconnect(fail)
    assert Revocation.objects.get().ident == AGENT.public


def test_a_persons_key_is_closed_on_their_account(person: User) -> None:
    enrol(person)
    deliver(signed(grant=[person_grant()]))
    grants.revoke(PERSON.public)
    assert PrincipalKey.objects.get().revoked_at == Grant.objects.get().revoked_at is not None


def test_the_sites_own_key_stops_signing() -> None:
    chain = site_grant()
    grants.revoke(site_keys.active_key().public)
    assert revoked(Grant) == {parse_grant(chain[0]).id}
    assert site_keys.create()


def test_an_unknown_id_is_revoked_all_the_same() -> None:
    assert grants.revoke("gr_" + "A" * 22) is True
    assert Revocation.objects.get().expires_at is None


@pytest.mark.parametrize(
    "ident", ["", "gr_", "gr_" + "A" * 21, "ed25519:", "ed25519:" + "A" * 43, "session:abc", "x" * 500]
)
def test_what_is_neither_a_grant_nor_a_key_is_refused(ident: str) -> None:
    with pytest.raises(InputError):
        grants.revoke(ident)
    assert not Revocation.objects.exists()


def test_a_long_reason_is_cut_to_its_column() -> None:
    grants.revoke(AGENT.public, "r" * 500)
    assert Revocation.objects.get().reason == "r" * 200
