"""What is remembered is bounded, and strangers cannot push it out."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agentweb.access import signatures
from agentweb.access.remembered import Remembered
from agentweb.wire.errors import AgentError
from agentweb.wire.signing import SigningKey
from tests.access.signing import OTHER, deliver, enrol, person_grant, signed, site_grant


def test_the_longest_unused_is_forgotten_first() -> None:
    kept = Remembered[str, int](2)
    kept.keep("a", 1)
    kept.keep("b", 2)
    assert kept.get("a") == 1
    kept.keep("c", 3)
    assert [kept.get(name) for name in "abc"] == [1, None, 3]
    kept.forget()
    assert kept.get("a") is None


@pytest.fixture
def empty() -> None:
    signatures._decoded.forget()
    signatures._verified.forget()


@pytest.mark.django_db
@pytest.mark.usefixtures("empty")
def test_only_a_chain_that_holds_in_every_respect_is_remembered() -> None:
    site_grant()
    stranger = SigningKey.generate()
    for grant in (
        [person_grant(issuer=stranger)],  # signed in order, and trusted by nobody here
        [{**site_grant()[0], "scopes": ["everything"]}],
        site_grant(key=OTHER),
        site_grant(site="other.example"),
    ):
        with pytest.raises(AgentError):
            deliver(signed(grant=grant))
    assert not signatures._decoded._kept
    assert not signatures._verified._kept
    deliver(signed(grant=site_grant()))
    assert len(signatures._decoded._kept) == len(signatures._verified._kept) == 1


@pytest.mark.django_db
@pytest.mark.usefixtures("empty")
def test_what_is_remembered_saves_the_verifying_and_nothing_that_can_change(
    person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = enrol(person)
    chain = [person_grant()]
    verified = []
    real = signatures.verify_chain

    def watch(*args: object, **kwargs: object) -> None:
        verified.append(args)
        real(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(signatures, "verify_chain", watch)
    for _ in range(3):
        deliver(signed(grant=chain))
    assert len(verified) == 1
    key.delete()
    with pytest.raises(AgentError, match="issuer is neither"):
        deliver(signed(grant=chain))
