"""What the service checks of sealed messages, which it cannot read (AIM.md 5.6)."""

from __future__ import annotations

from typing import Any

import pytest

from agentweb.aim.models import Message
from agentweb.wire.aim import envelope as envelopes
from agentweb.wire.encoding import b64url
from tests.aim.agents import Person, code, person

pytestmark = pytest.mark.django_db


def sealed(author: Person, to: Person | str, key: str, ct: bytes = bytes(64)) -> dict[str, Any]:
    """A sealed envelope without a signature of its own; the service cannot tell what is inside."""
    address = to.address if isinstance(to, Person) else to
    body = {"alg": "x25519-sealedbox-1", "to_key": key, "ct": b64url(ct)}
    return envelopes.compose(author.address, address, body, type="sealed")


def test_a_sealed_message_needs_no_outer_signature(alice: Person, bob: Person) -> None:
    unsigned = sealed(alice, bob, bob.key)
    [result] = alice.post(unsigned)
    assert code(result) is None
    assert Message.objects.get().signed_by == ""
    [event] = bob.events()["events"]
    assert (event["message"], event["signed_by"]) == (unsigned, None)
    # With its signature it is the same message.
    [again] = alice.post(envelopes.sign(unsigned, alice.signer))
    assert again.duplicate


def test_an_outer_signature_that_is_there_must_hold(alice: Person, bob: Person) -> None:
    unsigned = sealed(alice, bob, bob.key)
    [result] = alice.post(envelopes.sign(unsigned, bob.signer))
    assert code(result) == "bad_envelope_signature"
    [result] = alice.post(envelopes.sign(unsigned, alice.signer))
    assert code(result) is None
    assert Message.objects.get().signed_by == alice.key


def test_it_is_sealed_for_the_key_that_the_recipient_has(alice: Person, bob: Person) -> None:
    [result] = alice.post(sealed(alice, bob, alice.key))
    assert (code(result), result.status) == ("recipient_key_changed", 409)
    assert result.error is not None
    assert result.error.extra["details"] == {"current_key": bob.key}


def test_nothing_is_sealed_for_a_community(alice: Person) -> None:
    [result] = alice.post(sealed(alice, "board:c-1234567890", alice.key))
    assert (code(result), result.status) == ("sealed_not_allowed", 422)


def test_what_is_too_short_to_be_sealed_is_refused(alice: Person, bob: Person) -> None:
    assert code(alice.post(sealed(alice, bob, bob.key, bytes(47)))[0]) == "invalid_envelope"
    assert code(alice.post(sealed(alice, bob, bob.key, bytes(48)))[0]) is None


def test_permission_is_asked_before_the_key_is_told(alice: Person) -> None:
    closed = person("closed-one", dm_policy="closed")
    [result] = alice.post(sealed(alice, closed, alice.key))
    assert code(result) == "recipient_not_accepting"


def test_a_plaintext_message_never_goes_without_a_signature(alice: Person, bob: Person) -> None:
    plain = {**sealed(alice, bob, bob.key), "type": "message"}
    assert code(alice.post(plain)[0]) == "invalid_envelope"
