"""``/awp/analytics.json``: for staff, and for agents that were given its scope."""

from __future__ import annotations

import io
import json
from datetime import date
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import override_settings

from agentweb.access import site_keys
from agentweb.awp.analytics.models import AgentRequests
from agentweb.testing import TestAgent, clock
from tests.support.staff import boss, browser, staff
from tests.support.web import send

pytestmark = pytest.mark.django_db

ANALYTICS = "/awp/analytics.json"


def count(day: str, protocol: str, family: str, requests: int) -> None:
    AgentRequests.objects.create(
        day=date.fromisoformat(day), protocol=protocol, family=family, requests=requests
    )


def agent_of(user: Any, *scopes: str) -> TestAgent:
    return TestAgent(scopes=scopes or ("analytics:read",), user=user)


def error_of(answer: Any) -> dict[str, Any]:
    error: dict[str, Any] = json.loads(answer.content)["error"]
    return error


def test_staff_who_may_view_them_get_the_counts_of_the_days() -> None:
    count("2027-01-10", "aip", "OpenAI", 5)
    count("2027-01-10", "awp", "OpenAI", 2)
    count("2027-01-12", "awp", "Browsers", 9)
    count("2027-01-13", "awp", "Browsers", 1)
    answer = agent_of(staff("view_agentrequests")).get(f"{ANALYTICS}?from=2027-01-09&to=2027-01-12")
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
    assert answer["X-AWP-Version"] == "1.0"
    assert json.loads(answer.content) == {
        "from": "2027-01-09",
        "to": "2027-01-12",
        "total": 16,
        "by_protocol": {"awp": 11, "aip": 5},
        "by_family": {"Browsers": 9, "OpenAI": 7},
        "counts": [
            {"day": "2027-01-10", "protocol": "aip", "family": "OpenAI", "requests": 5},
            {"day": "2027-01-10", "protocol": "awp", "family": "OpenAI", "requests": 2},
            {"day": "2027-01-12", "protocol": "awp", "family": "Browsers", "requests": 9},
        ],
    }


def test_without_days_it_is_the_last_thirty_up_to_today() -> None:
    with clock(1_800_000_000):
        body = json.loads(agent_of(boss()).get(ANALYTICS).content)
    assert (body["from"], body["to"], body["total"]) == ("2026-12-17", "2027-01-15", 0)
    body = json.loads(agent_of(boss()).get(f"{ANALYTICS}?to=2026-03-02").content)
    assert body["from"] == "2026-02-01"


def test_the_token_of_the_command_in_the_docs_reads_them() -> None:
    person = staff("view_agentrequests")
    site_keys.ensure_active_key()
    out, err = io.StringIO(), io.StringIO()
    arguments = [
        "--user",
        person.username,
        "--scope",
        "analytics:read",
        "--client-name",
        "Reports",
        "--quiet",
    ]
    call_command("issue_session", *arguments, stdout=out, stderr=err)
    assert err.getvalue() == ""
    answer = send("GET", ANALYTICS, Authorization=f"Bearer {out.getvalue().strip()}")
    assert answer.status_code == 200


def test_a_session_of_staff_reads_them_too() -> None:
    session = TestAgent.with_session(scopes=["analytics:read"], user=staff("view_agentrequests"))
    assert session.get(ANALYTICS).status_code == 200


def test_nobody_else_reads_them() -> None:
    count("2027-01-10", "aip", "OpenAI", 5)
    person = User.objects.create_user("ann")
    for answer, status, code in (
        (send("GET", ANALYTICS), 401, "grant_required"),
        (TestAgent().get(ANALYTICS), 401, "grant_required"),
        (agent_of(person).get(ANALYTICS), 403, "not_allowed"),
        (agent_of(None).get(ANALYTICS), 403, "not_allowed"),
        (agent_of(staff("view_grant", name="other")).get(ANALYTICS), 403, "not_allowed"),
        (agent_of(boss(), "cart:write").get(ANALYTICS), 403, "insufficient_scope"),
    ):
        assert (answer.status_code, error_of(answer)["code"]) == (status, code)
        assert b"OpenAI" not in answer.content
        assert answer["Cache-Control"] == "no-store"


def test_a_permission_without_being_staff_is_not_enough() -> None:
    user = staff("view_agentrequests")
    agent = agent_of(user)
    User.objects.filter(pk=user.pk).update(is_staff=False)
    assert agent.get(ANALYTICS).status_code == 403


def test_a_cookie_says_nothing() -> None:
    client = browser(boss())
    assert client.get(ANALYTICS, secure=True).status_code == 401


@pytest.mark.parametrize(
    ("query", "field", "code"),
    [
        ("from=yesterday", "from", "format"),
        ("to=2027-02-30", "to", "format"),
        ("from=2027-01-10&to=2027-01-09", "from", "range"),
        ("from=2027-01-01&to=2027-04-03", "from", "range"),
        ("from=0000-01-01", "from", "range"),
        ("days=3", "days", "unknown_field"),
    ],
)
def test_days_that_cannot_be_are_refused(query: str, field: str, code: str) -> None:
    answer = agent_of(boss()).get(f"{ANALYTICS}?{query}")
    assert (answer.status_code, error_of(answer)["code"]) == (400, "invalid_parameter")
    assert [(each["field"], each["code"]) for each in error_of(answer)["problems"]] == [(field, code)]


def test_the_longest_and_the_earliest_stretch_are_answered() -> None:
    agent = agent_of(boss())
    for query in (
        "from=2027-01-01&to=2027-04-02",
        "to=0001-01-01",
        "to=9999-12-31",
        "from=0001-01-01&to=0001-01-02",
    ):
        assert agent.get(f"{ANALYTICS}?{query}").status_code == 200, query


@override_settings(AGENTWEB={"ORIGIN": "https://shop.example", "AWP": {"ANALYTICS": False}})
def test_a_site_that_does_not_count_has_nothing_there() -> None:
    answer = agent_of(boss()).get(ANALYTICS)
    assert (answer.status_code, error_of(answer)["code"]) == (404, "not_found")
