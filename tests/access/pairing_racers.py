"""What the processes of the pairing races do; see tests/support/races.py."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import OperationalError

from agentweb.access import pairing, sessions, site_keys
from agentweb.access.models import Grant, Pairing, Revocation, Session
from agentweb.access.pairing import Wanted
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import AgentError
from agentweb.wire.signing import SigningKey

KEY = SigningKey.from_seed(b"the agent that asks for a grant ")


def prepare() -> dict[str, Any]:
    """A person, and a program that waits for them."""
    site_keys.ensure_active_key()
    started = pairing.start(client_name="Desk", wanted=Wanted(), address="192.0.2.1")
    return {"user_id": User.objects.create_user("ann").pk, "id": started.id, "token": started.token}


def decide(ident: str, user_id: Any, token: str, racer: int) -> str:
    """One third approves, one denies, one takes the request back; what this one achieved, empty for nothing."""
    person, row = User.objects.get(pk=user_id), Pairing.objects.get(pk=ident)
    while True:
        try:
            if racer % 3 == 1:
                return "denied" if pairing.deny(row, by=person) else ""
            if racer % 3 == 2:
                return "cancelled" if pairing.cancel(token) else ""
            made = pairing.approve(
                row, by=person, scopes=["cart:write"], mandate=None, expires_in=60, site="shop.example"
            )
            return "approved" if made else ""
        except OperationalError as error:  # SQLite gives up waiting after a while; the race goes on
            if "locked" not in str(error):
                raise


def outcome(ident: str) -> dict[str, Any]:
    return {
        "state": Pairing.objects.get(pk=ident).state,
        "sessions": Session.objects.filter(expires_at__gt=now_datetime()).count(),
        "grants": Grant.objects.count(),
    }


def prepare_request() -> dict[str, Any]:
    """Two people, and an agent that asks for a grant and waits."""
    site_keys.ensure_active_key()
    wanted = Wanted(scopes=("cart:write",), expires_in=60)
    started = pairing.start(subject=KEY.public, reason="To shop.", wanted=wanted, address="192.0.2.1")
    return {
        "id": started.id,
        "users": [User.objects.create_user(name).pk for name in ("ann", "bob")],
    }


def answer_or_look(ident: str, users: list[Any], racer: int) -> list[Any]:
    """Two thirds approve, each time another person; one third, the agent, looks. What this one saw or did."""
    while True:
        try:
            if racer % 3 == 2:
                found = pairing.look(ident, subject=KEY.public)
                return ["saw", None if found.chain is None else found.chain[0].id]
            by = User.objects.get(pk=users[racer % 3])
            given = pairing.approve(
                Pairing.objects.get(pk=ident),
                by=by,
                scopes=["cart:write"],
                mandate=None,
                expires_in=60,
                site="shop.example",
            )
            return ["gave", given, by.pk]
        except OperationalError as error:
            if "locked" not in str(error):
                raise


def given() -> list[list[Any]]:
    return [[grant.pk, grant.user_id, grant.subject] for grant in Grant.objects.all()]


def begin(number: int) -> None:
    """A person who has agreed to so many sessions in one browser."""
    site_keys.ensure_active_key()
    ann = User.objects.create_user("ann")
    for _ in range(number):
        sessions.create(user=ann, scopes=["cart:write"], expires_in=60, site="shop.example", login="l" * 22)


def approve_or_log_out(racer: int) -> str:
    """The even ones approve a request of their own in one and the same browser, the odd ones log out there."""
    ann = User.objects.get()
    if racer % 2:
        sessions.log_out("l" * 22)
        return "out"
    started = pairing.start(client_name="Desk", wanted=Wanted(), address=f"192.0.2.{racer}")
    row = Pairing.objects.get(pk=started.id)
    try:
        pairing.approve(
            row,
            by=ann,
            scopes=["cart:write"],
            mandate=None,
            expires_in=60,
            site="shop.example",
            login="l" * 22,
        )
    except AgentError as error:
        return error.code
    return "approved"


def alive() -> int:
    return Session.objects.filter(revoked_at=None).count()


def log_out() -> int:
    return sessions.log_out("l" * 22)


def ended() -> dict[str, int]:
    return {
        "ended": Session.objects.filter(end="logged_out", revoked_at__isnull=False).count(),
        "revocations": Revocation.objects.count(),
    }
