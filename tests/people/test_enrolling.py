"""A person enrols a key of their own on a page, by signing what the page shows."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agentweb.access import principals, sessions, site_keys
from agentweb.access.models import Grant, PrincipalKey, Session
from agentweb.testing import TestAgent
from agentweb.wire.enrolment import sign_enrolment
from agentweb.wire.signing import SigningKey
from tests.people.conftest import browser
from tests.people.test_approvals import Document
from tests.support.races import ROOT

KEY = "/agent-access/key"


def proof(user: User, key: SigningKey, **changes: str) -> str:
    made = {"site": "shop.example", "challenge": principals.challenge(user), **changes}
    return json.dumps(sign_enrolment(key, **made))  # type: ignore[arg-type]


def test_the_command_of_the_page_makes_what_the_page_takes(ann: User, tmp_path: Path) -> None:
    client = browser(ann)
    page = client.get(KEY).content.decode()
    shown = page.partition('<code id="command">')[2].partition("</code>")[0]
    words = shlex.split(
        shown.replace("&#x27;", "'").replace("&quot;", '"').replace("&lt;", "<").replace("&amp;", "&")
    )
    assert words[0] == "python"
    made = subprocess.run(
        [sys.executable, *words[1:]],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    answer = client.post(KEY, {"label": "laptop", "proof": made.stdout})
    assert (answer.status_code, answer["Location"]) == (303, "/agent-access")
    row = PrincipalKey.objects.get()
    assert (row.user, row.label, row.public) == (ann, "laptop", json.loads(made.stdout)["key"])
    text = Document(client.get("/agent-access/")).text
    assert row.public in text
    client.post("/agent-access/end", {"id": row.public})
    row.refresh_from_db()
    assert row.revoked_at is not None
    assert (
        client.post(KEY, {"label": "laptop", "proof": proof(ann, SigningKey.generate())}).status_code == 303
    )


def test_what_proves_nothing_enrols_nothing(ann: User) -> None:
    eve = User.objects.create_user("eve")
    key = SigningKey.generate()
    good = json.loads(proof(ann, key))
    for value, said in (
        ("", "required"),
        ("{", "whole line"),
        ("[]", "whole line"),
        ("\ud800", "whole line"),
        (json.dumps({**good, "key": 5}), "whole line"),
        (json.dumps({**good, "key": "ed25519:short"}), "key"),
        (json.dumps({**good, "sig": "A" * 86}), "not signed by this key"),
        (proof(eve, key), "challenge"),
        (proof(ann, key, site="other.example"), "another site"),
    ):
        answer = browser(ann).post(
            KEY, {"label": "laptop", "proof": value.encode("utf-8", "replace").decode()}
        )
        assert answer.status_code == 422
        assert said in Document(answer).text
    assert browser(ann).post(KEY, {"proof": json.dumps(good)}).status_code == 422
    assert not PrincipalKey.objects.exists()


@pytest.mark.parametrize("ident", ["", "\0", "ss_" + "A" * 22, "gr_" + "A" * 22, "ed25519:" + "A" * 43, "x"])
def test_nobody_ends_what_is_not_theirs_or_is_nothing(ann: User, ident: str) -> None:
    assert browser(ann).post("/agent-access/end", {"id": ident}).status_code == 404


def test_people_end_their_own_and_see_nobody_elses(ann: User, site: None) -> None:
    site_keys.ensure_active_key()
    eve = User.objects.create_user("eve")
    session, token = sessions.create(
        user=ann, scopes=["mail:send"], expires_in=600, site="shop.example", client_name="Hers alone"
    )
    agent = TestAgent(scopes=["mail:send"], user=ann)
    grant: Any = Grant.objects.exclude(subject__startswith="session:").get()
    other = PrincipalKey.objects.create(
        public=SigningKey.generate().public, user=ann, created_at=session.created_at
    )
    for ident in (session.pk, grant.pk, other.public):
        assert browser(eve).post("/agent-access/end", {"id": ident}).status_code == 404
    assert "Hers alone" not in browser(eve).get("/agent-access/").content.decode()
    assert browser(ann).get("/agent-access/end").status_code == 405
    assert agent.post("/agent/send_letter", {"to": "bob"}).status_code == 428
    for ident in (session.pk, grant.pk):
        assert browser(ann).post("/agent-access/end", {"id": ident}).status_code == 303
    assert agent.post("/agent/send_letter", {"to": "bob"}).json()["error"]["code"] == "grant_revoked"
    assert Session.objects.get().revoked_at is not None
    with pytest.raises(Exception, match="ended"):
        sessions.authenticate(token, "shop.example", "")
