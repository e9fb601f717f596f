"""A signed request is accepted as it was sent, and with any one byte changed it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from agentweb.access.models import Nonce
from agentweb.wire.errors import AuthenticationError
from tests.access.signing import Request, deliver, signed, site_grant

pytestmark = pytest.mark.django_db

REFUSALS = {"signature_invalid", "signature_expired", "grant_invalid"}


def changes(value: str) -> Iterator[str]:
    """Each character in turn replaced by a neighbour, dropped and doubled; and one more at either end."""
    for place, character in enumerate(value):
        before, after = value[:place], value[place + 1 :]
        for instead in {chr(ord(character) ^ 1), character.swapcase(), "", character * 2} - {character}:
            yield before + instead + after
    yield value + " "
    yield " " + value


def tampered(request: Request) -> Iterator[tuple[str, Request]]:
    for name, value in request.headers.items():
        for changed in changes(value):
            yield name, request.having(**{name: changed})
        yield f"no {name}", request.without(name)
    for part in ("method", "authority", "path", "query"):
        for changed in changes(getattr(request, part)):
            yield part, replace(request, **{part: changed})
    for place, byte in enumerate(request.body):
        before, after = request.body[:place], request.body[place + 1 :]
        for instead in (bytes([byte ^ 1]), b"", bytes([byte, byte])):
            yield "body", replace(request, body=before + instead + after)
    yield "body", replace(request, body=request.body + b"\n")
    yield "body", replace(request, body=b"")


@pytest.mark.parametrize("form", ["chain", "key"])
def test_every_one_byte_change_of_a_signed_request_is_refused(form: str) -> None:
    grant = site_grant() if form == "chain" else None
    request = signed(grant=grant, idempotency_key="6f1d2c1e-0000-4000-8000-000000000001")
    tried = 0
    for what, changed in tampered(request):
        tried += 1
        try:
            deliver(changed)
        except AuthenticationError as error:
            refused = error.code in REFUSALS
        else:
            refused = False
        assert refused, f"a change of {what} was accepted: {changed}"
    assert tried > 1_500
    assert not Nonce.objects.exists()
    assert deliver(request).kind == "agent"
