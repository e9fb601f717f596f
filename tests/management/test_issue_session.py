"""``manage.py issue_session``: a token that is shown once."""

from __future__ import annotations

import io
import json
import re

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from agentweb.access import sessions, site_keys
from agentweb.access.models import Session
from agentweb.testing import mandate
from tests.access.signing import ADDRESS, SITE

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def site_key(db: None) -> None:
    site_keys.ensure_active_key()


def issue(*arguments: str) -> str:
    out = io.StringIO()
    call_command("issue_session", *arguments, stdout=out)
    return out.getvalue()


def test_the_token_that_is_printed_works() -> None:
    ann = User.objects.create_user("ann")
    answer = json.loads(
        issue(
            *(
                "--user",
                "ann",
                "--scope",
                "notes:write",
                "--scope",
                "shop:pay",
                "--mandate",
                "USD:5.00/20.00",
            ),
            *(
                "--expires-in",
                "7200",
                "--one-time",
                "--note",
                "Office",
                "--client-name",
                "Desk helper",
                "--json",
            ),
        )
    )
    caller = sessions.authenticate(answer["token"], SITE, ADDRESS)
    assert caller.user == ann
    grant = caller.chain[0]
    assert (grant.id, grant.scopes, grant.one_time, grant.note) == (
        answer["grant"],
        ("notes:write", "shop:pay"),
        True,
        "Office",
    )
    assert grant.mandate == mandate("USD:5.00/20.00")
    assert grant.expires - grant.not_before == 7_200
    session = Session.objects.get()
    assert (session.pk, session.client_name, session.user) == (answer["session"], "Desk helper", ann)


def test_people_get_the_header_and_a_warning() -> None:
    said = issue("--scope", "notes:write").splitlines()
    session = Session.objects.get()
    assert said[0].startswith(f"Session {session.pk} at {SITE}, until ")
    [token] = re.findall(r"^Authorization: Bearer (agw_[A-Za-z0-9_-]{43})$", said[1])
    assert sessions.authenticate(token, SITE, ADDRESS).subject == f"session:{session.pk}"
    assert "shown here only" in said[2]


def test_quiet_prints_the_token_alone() -> None:
    token = issue("--scope", "notes:write", "--quiet").strip()
    assert sessions.authenticate(token, SITE, ADDRESS).scopes == ("notes:write",)


def test_all_bad_arguments_are_told_at_once() -> None:
    with pytest.raises(CommandError) as caught:
        issue(
            *("--scope", "**", "--mandate", "x", "--expires-in", "x", "--user", "nobody"),
            *("--note", "n" * 201, "--client-name", "c" * 101),
        )
    for option in ("scope", "mandate", "expires-in", "user", "note", "client-name"):
        assert f"- --{option}: " in str(caught.value)
    assert "The scopes that this site's actions use: " in str(caught.value)
    assert not Session.objects.exists()


def test_without_a_site_key_the_command_says_how_to_get_one() -> None:
    site_keys.retire(site_keys.SiteKey.objects.get().kid)
    with pytest.raises(CommandError, match="agentweb_keys create"):
        issue("--scope", "notes:write")


def test_revoke_grant_ends_a_session_by_its_name() -> None:
    session = json.loads(issue("--scope", "notes:write", "--json"))["session"]
    out = io.StringIO()
    call_command("revoke_grant", session, "--reason", "lost", stdout=out)
    call_command("revoke_grant", session, stdout=out)
    assert out.getvalue().splitlines() == [f"{session} is ended.", f"{session} was ended before."]
    with pytest.raises(CommandError, match="no session"):
        call_command("revoke_grant", "ss_unknown", stdout=out)
