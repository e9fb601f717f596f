"""``manage.py revoke_grant``."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command

from agentweb.access.models import Revocation
from agentweb.wire.errors import AuthenticationError
from agentweb.wire.grants import parse_grant
from tests.access.signing import AGENT, deliver, signed, site_grant

pytestmark = pytest.mark.django_db


def revoke(*arguments: str) -> str:
    out = io.StringIO()
    call_command("revoke_grant", *arguments, stdout=out)
    return out.getvalue()


def test_a_revoked_grant_is_refused_and_revoking_again_is_no_error() -> None:
    chain = site_grant()
    ident = parse_grant(chain[0]).id
    assert revoke(ident, "--reason", "lost laptop") == f"{ident} is revoked.\n"
    assert revoke(ident) == f"{ident} was revoked before.\n"
    assert Revocation.objects.get().reason == "lost laptop"
    with pytest.raises(AuthenticationError) as caught:
        deliver(signed(grant=chain))
    assert caught.value.code == "grant_revoked"


def test_a_key_is_revoked_with_all_its_grants() -> None:
    chain = site_grant()
    revoke(AGENT.public)
    with pytest.raises(AuthenticationError) as caught:
        deliver(signed(grant=chain))
    assert caught.value.code == "grant_revoked"


def test_anything_else_is_an_error_that_says_what_is_expected() -> None:
    with pytest.raises(CommandError, match="gr_ and 22 characters"):
        revoke("receipt-7")


def test_a_grant_that_was_never_seen_is_not_listed_by_a_slip() -> None:
    ident = "gr_" + "0" * 22
    with pytest.raises(CommandError, match="has not seen a grant"):
        revoke(ident)
    assert not Revocation.objects.exists()
    assert revoke(ident, "--unknown") == f"{ident} is revoked.\n"
    assert revoke(ident) == f"{ident} was revoked before.\n"
