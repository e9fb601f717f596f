"""A bearer handle to a grant: what it may do, what ends it, and what it costs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentweb.access import grants, sessions, site_keys
from agentweb.access.callers import Caller
from agentweb.access.models import Bucket, Grant, Revocation, Session
from agentweb.testing import clock, mandate
from agentweb.wire.errors import AgentError, InputError
from tests.access.signing import ADDRESS, SITE

pytestmark = pytest.mark.django_db

NOON = 1_790_000_000.0


@pytest.fixture(autouse=True)
def site_key(db: None) -> None:
    site_keys.ensure_active_key()


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann", password="one of ann's")


def begin(user: User | None, **wanted: Any) -> tuple[Session, str]:
    wanted = {"scopes": ["cart:*"], "expires_in": 3_600, "site": SITE, **wanted}
    return sessions.create(user=user, **wanted)


def show(token: str, site: str = SITE) -> Caller:
    return sessions.authenticate(token, site, ADDRESS)


def refusal(token: str, site: str = SITE) -> AgentError:
    with pytest.raises(AgentError) as caught:
        show(token, site)
    assert "agw_" not in caught.value.message
    return caught.value


def test_a_token_stands_for_a_grant_of_its_own(ann: User) -> None:
    session, token = begin(ann, mandate=mandate("USD:5.00/20.00"), client_name="Desk helper", note="n")
    caller = show(token)
    assert (caller.kind, caller.subject, caller.agent_key) == ("session", f"session:{session.pk}", None)
    assert (caller.user, caller.user_id, caller.address) == (ann, ann.pk, ADDRESS)
    assert caller.allowance is not None
    assert caller.scopes == ("cart:*",)
    grant = caller.grant
    assert grant is not None
    assert (grant.id, grant.subject, grant.audience, grant.delegate) == (
        session.grant_id,
        f"session:{session.pk}",
        SITE,
        0,
    )
    assert grant.mandate == mandate("USD:5.00/20.00")
    assert Grant.objects.get().user == ann


def test_the_token_is_nowhere_in_the_database(ann: User) -> None:
    session, token = begin(ann)
    assert len(token) == 47
    assert token.startswith("agw_")
    session.refresh_from_db()
    assert session.token_digest == hashlib.sha256(token.encode()).hexdigest()
    for model in (Session, Grant, Bucket):
        assert all(token not in str(row) for row in model.objects.values())


def test_a_session_without_a_person_acts_for_nobody(ann: User) -> None:
    _, token = begin(None)
    caller = show(token)
    assert caller.user_id is None
    assert caller.user.is_anonymous


@pytest.mark.parametrize("token", ["", "agw_", "agw_" + "A" * 43, "agw_" + "A" * 42, "x" * 5_000, "agw_é"])
def test_a_token_that_is_none_is_refused(token: str) -> None:
    error = refusal(token)
    assert (error.status, error.code) == (401, "session_invalid")
    assert error.headers["WWW-Authenticate"].startswith("Bearer")


def change_password(ann: User) -> None:
    ann.set_password("another")
    ann.save()


ENDINGS: dict[str, Callable[[Session, User], object]] = {
    "revoked": lambda session, ann: sessions.revoke(session.pk),
    "its grant revoked": lambda session, ann: grants.revoke(session.grant_id),
    "the key that issued it revoked": lambda session, ann: grants.revoke(Grant.objects.get().issuer),
    "its person deactivated": lambda session, ann: User.objects.update(is_active=False),
    "its person's password changed": lambda session, ann: change_password(ann),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_a_session_ends_at_the_next_request(ann: User, how: str) -> None:
    session, token = begin(ann)
    show(token)
    ENDINGS[how](session, ann)
    error = refusal(token)
    assert (error.status, error.code) == (401, "session_revoked")
    assert error.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_session_goes_with_its_person(ann: User) -> None:
    _, token = begin(ann)
    ann.delete()
    assert refusal(token).code == "session_invalid"


def test_a_session_ends_by_itself(ann: User) -> None:
    with clock(NOON) as time:
        _, token = begin(ann, expires_in=60)
        time.forward(59)
        show(token)
        time.forward(1)
        error = refusal(token)
    assert (error.status, error.code) == (401, "session_expired")


def test_what_was_ended_says_so_also_when_it_is_over(ann: User) -> None:
    with clock(NOON) as time:
        session, token = begin(ann, expires_in=60)
        assert sessions.revoke(session.pk) is True
        time.forward(61)
        assert refusal(token).code == "session_revoked"


def test_revoking_ends_the_grant_and_its_mandate_and_is_done_once(ann: User) -> None:
    session, _ = begin(ann, mandate=mandate("USD:5.00/20.00"))
    other, token = begin(ann)
    assert sessions.revoke(session.pk, "lost") is True
    assert sessions.revoke(session.pk) is False
    assert sessions.revoke("ss_unknown") is False
    assert Revocation.objects.get().ident == session.grant_id
    session.refresh_from_db()
    assert session.revoked_at is not None
    assert Grant.objects.get(pk=session.grant_id).revoked_at is not None
    assert show(token).subject == f"session:{other.pk}"


def test_a_rotated_secret_key_ends_no_session(ann: User, settings: Any) -> None:
    _, token = begin(ann)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-0123456789-0123456789-0123456789-0123456789"
    assert show(token).user == ann
    settings.SECRET_KEY_FALLBACKS = []
    assert refusal(token).code == "session_revoked"


def test_a_session_is_good_for_the_site_as_it_was_named(ann: User) -> None:
    _, token = begin(ann)
    assert refusal(token, "other.example").code == "grant_wrong_site"


def test_every_problem_of_a_request_is_told_at_once(ann: User) -> None:
    ann.is_active = False
    with pytest.raises(InputError) as caught:
        begin(ann, scopes=["car*"], expires_in=0, client_name="two\nlines")
    assert [problem["field"] for problem in caught.value.problems or []] == [
        "scopes.0",
        "expires_in",
        "user",
        "client_name",
    ]
    with pytest.raises(InputError):
        begin(None, client_name="x" * 101)
    assert not Session.objects.exists()
    assert not Grant.objects.exists()


def test_use_is_written_down_once_a_minute(ann: User) -> None:
    with clock(NOON) as time:
        session, token = begin(ann)
        for seconds, seen in ((0, 0), (59, 0), (1, 60), (30, 60)):
            time.forward(seconds)
            show(token)
            session.refresh_from_db()
            assert session.last_seen_at is not None
            assert session.last_seen_at.timestamp() == NOON + seen


def test_a_call_costs_two_queries_and_its_limit(ann: User) -> None:
    _, token = begin(ann)
    show(token)
    with CaptureQueriesContext(connection) as captured:
        caller = show(token)
        assert caller.user.is_active
    assert len(captured) == 2
    _, token = begin(None)
    show(token)
    with CaptureQueriesContext(connection) as captured:
        assert show(token).user.is_anonymous
    assert len(captured) == 2


def test_a_session_has_the_limit_of_a_caller(ann: User, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "CALLER_RATE": (0.001, 2)}
    _, first = begin(ann)
    _, second = begin(ann)
    show(first)
    show(first)
    assert refusal(first).code == "rate_limited"
    show(second)
