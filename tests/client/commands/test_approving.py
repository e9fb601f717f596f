"""``approvals``: what waits for the person here, and what waits at a site."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from agentweb.client.command_line import OK, WAITING
from tests.client.site import Site, error

Run = Callable[..., tuple[int, str, str]]
PAGE = "https://shop.example/agent-access/approvals/ap_0123456789abcdefghijkl"
THEIRS = "ap_0123456789abcdefghijkl"


@pytest.fixture(autouse=True)
def shop(site: Site) -> None:
    site.action("pay", effect="spend", scope="pay", cost={"amount": 25, "currency": "USD"})
    site.action("note", scope="note")
    asked = error(
        428,
        "needs_human",
        approval=THEIRS,
        approve_url=PAGE,
        cost={"amount": "7.00", "currency": "USD"},
        expires=int(time.time()) + 600,
    )
    site.script("/api/note", asked)


def test_questions_of_the_agent_and_of_sites_are_listed_and_told_apart(run: Run, site: Site) -> None:
    run("call", site.url, "pay")
    assert run("call", site.url, "note", '{"a": 1}')[0] == WAITING
    code, out, _err = run("approvals")
    own, theirs = out.splitlines()
    assert code == OK
    assert "pay at" in own
    assert " UTC." in own
    assert theirs == (
        f"{THEIRS}  note at {site.authority}, USD 7.00 waits at the site: the person answers at {PAGE}, "
        "then the same call passes."
    )
    told = json.loads(run("--json", "approvals")[1])
    assert [(each["where"], each["action"]) for each in told] == [("here", "pay"), ("site", "note")]
    assert (told[1]["approve_url"], told[1]["input"]) == (PAGE, {"a": 1})


@pytest.mark.parametrize("command", ["confirm", "deny"])
def test_a_question_of_a_site_is_answered_there(run: Run, site: Site, command: str) -> None:
    run("call", site.url, "note")
    code, _out, err = run(command, THEIRS)
    assert code == WAITING
    assert f"  approve_url: {PAGE}" in err.splitlines()


@pytest.mark.parametrize("outcome", ["done", "refused"])
def test_a_call_that_has_another_outcome_waits_no_more(run: Run, site: Site, outcome: str) -> None:
    run("call", site.url, "note")
    if outcome == "refused":
        site.script("/api/note", error(403, "approval_denied"))
    run("call", site.url, "note")
    assert run("approvals")[1] == ""


def test_a_question_that_is_too_old_waits_no_more(
    run: Run, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("call", site.url, "note")
    monkeypatch.setattr("agentweb.wire.clock._source", lambda: time.time() + 601)
    assert run("approvals")[1] == ""
