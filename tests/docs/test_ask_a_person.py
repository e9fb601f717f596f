"""What docs/how-to/ask-a-person.md shows works as it says."""

from __future__ import annotations

import json
import re
import unittest
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client, override_settings
from django.urls import include, path

from agentweb import conf
from agentweb.access import approvals
from agentweb.people.checks import check_approval_pages, check_login
from agentweb.signals import approval_asked
from agentweb.testing import TestAgent
from tests.docs.pages import DOCS, blocks
from tests.docs.running import running

PAGE = "how-to/ask-a-person.md"
FLIGHT = {"flight": "AW 12", "price": 120}


@pytest.fixture(autouse=True)
def flights(settings: Any) -> None:
    settings.AGENTWEB = {"ORIGIN": "https://flights.example"}


def ask(user: User) -> Any:
    agent = TestAgent(scopes=["flights:book"], spending="EUR:200.00/200.00", user=user)
    return agent.post("/agent/book_flight", FLIGHT).json()


@pytest.mark.django_db
def test_the_answer_is_the_one_shown() -> None:
    [shown] = blocks(PAGE, "json")
    expected = json.loads(shown.text)
    with running(PAGE) as page:
        approval_asked.disconnect(page.tell_the_person)
        given = ask(User.objects.create_user("ann"))
    ident = given["error"]["approval"]
    text = json.dumps(given, ensure_ascii=False).replace(ident, expected["error"]["approval"])
    again = {
        **json.loads(text)["error"],
        "request_id": expected["error"]["request_id"],
        "expires": 1790000600,
    }
    assert again == expected["error"]
    assert re.fullmatch(r"ap_[A-Za-z0-9_-]{22}", expected["error"]["approval"])


@pytest.mark.django_db(transaction=True)
def test_the_person_is_told_by_mail() -> None:
    with running(PAGE) as page:
        try:
            ident = ask(User.objects.create_user("ann", "ann@flights.example"))["error"]["approval"]
        finally:
            approval_asked.disconnect(page.tell_the_person)
    [message] = mail.outbox
    assert (message.to, message.body) == (
        ["ann@flights.example"],
        f"https://flights.example/agent-access/approvals/{ident}",
    )


@pytest.mark.django_db(transaction=True)
def test_the_test_of_the_page_passes() -> None:
    with running(PAGE) as page:
        approval_asked.disconnect(page.tell_the_person)
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(page.BookingTests).run(result)
    assert (result.testsRun, result.errors, result.failures) == (1, [], [])


def test_the_login_url_of_the_page_lets_people_in() -> None:
    with running(PAGE) as page:
        approval_asked.disconnect(page.tell_the_person)
        assert [each.id for each in check_approval_pages(None)] == ["agentweb.W050"]
        with override_settings(LOGIN_URL=page.LOGIN_URL, ROOT_URLCONF=_WithLogin):
            assert check_approval_pages(None) == []


def test_the_names_of_the_page_are_those_of_the_code() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert approvals.PERMISSION in text
    assert {"APPROVAL_MINUTES", "OPEN_APPROVALS", "PEOPLE_PREFIX", "AUDIT_DAYS"} <= set(conf.SETTINGS)
    assert approvals.DENIED_FOR.total_seconds() == 3_600
    assert f"/{conf.get('PEOPLE_PREFIX')}/approvals" in text


class _WithLogin:
    urlpatterns = (
        path("accounts/", include("django.contrib.auth.urls")),
        path("", include("agentweb.urls")),
    )


@pytest.mark.django_db
def test_the_login_that_it_shows_leads_people_who_are_no_staff_to_the_page(client: Client) -> None:
    [shown] = blocks(PAGE, "html")
    loaders = [
        ("django.template.loaders.locmem.Loader", {"registration/login.html": shown.text}),
        "django.template.loaders.app_directories.Loader",
    ]
    templates = [
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "loaders": loaders,
                "context_processors": ["django.template.context_processors.request"],
            },
        }
    ]
    User.objects.create_user("ann", password="sesame")
    with override_settings(TEMPLATES=templates, ROOT_URLCONF=_WithLogin, LOGIN_URL="login"):
        assert check_login(None) == []
        sent = client.get("/agent-access/approvals")
        form = client.get(sent["Location"])
        found = re.search(r'name="next" value="([^"]+)"', form.content.decode())
        assert found is not None
        data = {"username": "ann", "password": "sesame", "next": found[1]}
        assert client.post(sent["Location"], data)["Location"] == "/agent-access/approvals"
        assert client.get("/agent-access/approvals").status_code == 200
