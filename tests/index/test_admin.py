"""The page of the sites in the index: a stranger's texts as texts, and shutting one out."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentweb.client.crawling import About
from agentweb.index.models import IndexedEntry, IndexedSite
from tests.index.sites import an_action, keep, names
from tests.support.staff import boss, browser, page, staff, text_of

pytestmark = pytest.mark.django_db

XSS = '<script>alert("x")</script><img src=x onerror=alert(1)>'


def test_texts_of_a_site_are_shown_as_texts() -> None:
    row = keep(
        "evil.example",
        an_action("buy", f"{XSS} \u202eevil \x1b[2J"),
        about=About(XSS, XSS),
        name=XSS,
        summary=XSS,
        code="site_unreachable",
        message=XSS,
    )
    client = browser(boss())
    for address in (page("indexedsite"), page("indexedsite", "change", row.pk)):
        answer = client.get(address)
        assert answer.status_code == 200
        assert b"<script>alert" not in answer.content
        assert b"<img src=x" not in answer.content
    text = text_of(answer)
    assert "[U+202E]evil [U+001B][2J" in text
    assert "\u202e" not in text


def test_a_hundred_sites_take_as_many_queries_as_one() -> None:
    client = browser(boss())

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(page("indexedsite")).status_code == 200
        return len(captured)

    keep("a.example", an_action("buy"))
    one = queries()
    for number in range(30):
        keep(f"a{number}.example", an_action("buy"))
    assert queries() == one


def decided(client: Any, row: IndexedSite, decision: str, **members: str) -> Any:
    return client.post(page("indexedsite", decision, row.pk), members, follow=True)


def test_a_site_is_shut_out_and_let_in_again() -> None:
    row = keep("spam.example", an_action("buy_paper"))
    client = browser(staff("view_indexedsite", "change_indexedsite"))
    assert decided(client, row, "shut_out", reason="Spam.").status_code == 200
    row.refresh_from_db()
    assert (row.state, names("paper"), IndexedEntry.objects.count()) == ("blocked", [], 0)
    decided(client, row, "let_in")
    row.refresh_from_db()
    assert row.state == "waiting"


def test_who_may_only_look_decides_nothing() -> None:
    row = keep("a.example", an_action("buy_paper"))
    client = browser(staff("view_indexedsite"))
    assert client.get(page("indexedsite", "change", row.pk)).status_code == 200
    assert decided(client, row, "shut_out").status_code == 403
    assert names("paper") == ["a.example/buy_paper"]
