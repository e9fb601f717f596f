"""The list of grants, the page of one, and taking them back."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentweb.access import grants, revocations, sessions
from agentweb.access.models import Grant, Mandate, Revocation
from agentweb.testing import TestAgent, clock
from agentweb.wire.grants import Mandate as Terms
from agentweb.wire.grants import attenuate, parse_grant
from agentweb.wire.signing import SigningKey
from tests.access.signing import AGENT, OTHER, SITE
from tests.support.staff import browser, page, staff, text_of

pytestmark = pytest.mark.django_db

NOON = 1_790_000_000.0
XSS = '<script>alert("x")</script><img src=x onerror=alert(1)>'


def issue(**wanted: Any) -> str:
    asked: dict[str, Any] = {
        "subject": AGENT.public,
        "scopes": ["notes:write"],
        "expires_in": 3_600,
        "site": SITE,
    }
    return grants.issue(**{**asked, **wanted})[-1].id


def rows_of(response: Any) -> list[str]:
    return [row.pk for row in response.context["cl"].result_list]


def test_a_hundred_grants_take_as_many_queries_as_one(client: Client, person: User) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert client.get(page("grant")).status_code == 200
        return len(captured)

    issue(user=person, mandate=Terms("USD", 1_250, 20_000))
    one = queries()
    for number in range(99):
        issue(
            user=person, note=f"Agent {number}", mandate=Terms("USD", 1_250, 20_000), one_time=number % 2 == 0
        )
    assert queries() == one <= 7


def test_the_list_says_what_was_spent_and_what_became_of_each(client: Client, person: User) -> None:
    with clock(NOON) as time:
        spent = issue(user=person, mandate=Terms("USD", 5_000, 20_000), note="Groceries")
        Mandate.objects.filter(pk=spent).update(spent=1_250)
        over, taken = issue(expires_in=60), issue()
        used = issue(one_time=True)
        Mandate.objects.filter(pk=used).update(uses=1)
        revocations.revoke(taken)
        time.forward(120)
        response = client.get(page("grant"))
        said = text_of(response)
        assert "12.50 of 200.00 USD" in said
        states = {
            row.pk: response.context["cl"].model_admin.state(row)
            for row in response.context["cl"].result_list
        }
        words = {pk: str(state).partition(">")[2].partition("<")[0] for pk, state in states.items()}
        assert words == {spent: "active", over: "expired", taken: "revoked", used: "used"}
        for state, found in (("active", {spent, used}), ("expired", {over}), ("revoked", {taken})):
            assert set(rows_of(client.get(page("grant"), {"state": state}))) == found
    assert rows_of(client.get(page("grant"), {"person": person.pk})) == [spent]


def test_a_grant_that_begins_later_is_shown_as_not_begun(client: Client) -> None:
    with clock(NOON + 3_600):
        issue(expires_in=7_200)
    with clock(NOON):
        assert "not begun" in text_of(client.get(page("grant")))


@pytest.mark.parametrize("query", ["id", "key", "note", "person"])
def test_grants_are_found_by_id_key_note_and_person(client: Client, person: User, query: str) -> None:
    wanted = issue(user=person, note="Office supplies", subject=OTHER.public)
    issue()
    words = {"id": wanted[:11], "key": OTHER.public[:20], "note": "supplies", "person": "ann"}
    assert rows_of(client.get(page("grant"), {"q": words[query]})) == [wanted]


@pytest.mark.parametrize("value", ["x", "\0", "9" * 40, ""])
def test_a_person_who_cannot_be_filters_nothing_out_and_breaks_nothing(client: Client, value: str) -> None:
    response = client.get(page("grant"), {"person": value}, follow=True)
    assert response.status_code == 200


def test_the_page_of_a_grant_says_everything_in_words(client: Client, person: User) -> None:
    ident = issue(
        user=person,
        note="Groceries",
        mandate=Terms("USD", 5_000, 20_000),
        scopes=["notes:*", "x:y"],
        one_time=True,
    )
    Mandate.objects.filter(pk=ident).update(spent=1_250)
    sessions.create(user=person, scopes=["notes:write"], expires_in=60, site=SITE, client_name="Desk")
    said = text_of(client.get(page("grant", "change", ident)))
    for words in (
        "Up to 50.00 USD for one purchase and 200.00 USD in all.",
        "Spent 12.50 USD, left 187.50 USD.",
        "Write note",
        "no action of this site asks for it",
        "used 0 of 1 times",
        AGENT.public,
        AGENT.thumbprint,
        '"audience": "shop.example"',
        "Receipts of this grant",
    ):
        assert words in said
    assert "Save" not in said
    assert "Delete" not in said


def test_a_chain_leads_up_and_down(client: Client) -> None:
    chain = grants.issue(subject=AGENT.public, scopes=["notes:*"], expires_in=3_600, site=SITE, delegate=1)
    longer = attenuate([chain[0].document], AGENT, subject=OTHER.public, scopes=["notes:write"])
    documents = [parse_grant(document) for document in longer]
    grants.remember(documents, None)
    root, leaf = documents
    assert page("grant", "change", leaf.id) in client.get(page("grant", "change", root.id)).content.decode()
    assert "Handed on from:" in text_of(client.get(page("grant", "change", leaf.id)))


def test_strangers_texts_are_harmless_on_every_page(client: Client) -> None:
    chain = grants.issue(subject=AGENT.public, scopes=["notes:*"], expires_in=3_600, site=SITE, delegate=1)
    # What an agent hands on is signed by the agent; only line breaks and controls are refused in its note.
    longer = attenuate([chain[0].document], AGENT, subject=OTHER.public, note=XSS + "\u202eevil\u2066\u200b")
    documents = [parse_grant(document) for document in longer]
    grants.remember(documents, None)
    ident = documents[-1].id
    for address in (page("grant"), page("grant", "change", ident), page("grant", "revoke", ident)):
        content = client.get(address).content.decode()
        assert "alert(" in content
        assert "<script>alert" not in content
        assert "<img src=x" not in content
        assert "[U+202E]evil[U+2066][U+200B]" in content
        assert not {"\u202e", "\u2066", "\u200b"} & set(content)


def test_a_row_that_cannot_be_read_is_shown_as_such(client: Client) -> None:
    ident = issue()
    for chain in ("", "[]", "{}", "[1]", '[{"type":"agent-grant/9"}]', "[" * 200):
        Grant.objects.filter(pk=ident).update(chain=chain)
        assert client.get(page("grant")).status_code == 200
        assert client.get(page("grant", "change", ident)).status_code == 200
    assert "unreadable" in text_of(client.get(page("grant")))


def test_a_longer_life_than_todays_setting_allows_is_still_shown(client: Client, settings: Any) -> None:
    ident = issue(expires_in=90 * 86_400)
    settings.AGENTWEB = {**settings.AGENTWEB, "GRANT_MAX_DAYS": 1}
    assert "notes:write" in text_of(client.get(page("grant", "change", ident)))
    assert "unreadable" not in text_of(client.get(page("grant")))


def test_revoking_asks_first_then_ends_the_grant_and_all_below(client: Client) -> None:
    agent = TestAgent(scopes=["notes:*"], delegate=1)
    ident = Grant.objects.get().pk
    address = page("grant", "revoke", ident)
    asked = text_of(client.get(address))
    assert "This cannot be undone." in asked
    assert not Revocation.objects.exists()
    response = client.post(address, {"reason": "lost laptop"}, follow=True)
    assert "Revoked." in text_of(response)
    assert Revocation.objects.get().reason == "lost laptop"
    assert agent.post("/agent/write_note", {"text": "x"}).json()["error"]["code"] == "grant_revoked"
    assert LogEntry.objects.get().change_message == "Revoked: lost laptop"
    assert address not in client.get(page("grant", "change", ident)).content.decode(), "no button any more"
    assert "nothing to decide" in text_of(client.post(address, follow=True))


def test_many_are_revoked_from_the_list_after_one_question(client: Client) -> None:
    idents = [issue() for _ in range(4)]
    revocations.revoke(idents[0])
    chosen = {"action": "revoke_selected", "_selected_action": idents[:3]}
    asked = client.post(page("grant"), chosen)
    assert all(ident in text_of(asked) for ident in idents[:3])
    assert Revocation.objects.count() == 1
    response = client.post(page("grant"), {**chosen, "decided": "yes", "reason": "audit"}, follow=True)
    assert "2 were revoked. 1 was before." in text_of(response)
    assert Grant.objects.filter(revoked_at=None).get().pk == idents[3]
    assert sorted(LogEntry.objects.values_list("object_id", flat=True)) == sorted(idents[1:3])


def test_no_more_are_revoked_at_once_than_a_page_can_show(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentweb.access.admin.decisions.MOST_AT_ONCE", 2)
    idents = [issue() for _ in range(3)]
    chosen = {"action": "revoke_selected", "_selected_action": idents, "decided": "yes"}
    assert "Select at most 2" in text_of(client.post(page("grant"), chosen, follow=True))
    assert not Revocation.objects.exists()


def test_revoking_needs_its_csrf_token() -> None:
    ident = issue()
    client = browser(staff("view_grant", "revoke_grant"), enforce_csrf_checks=True)
    assert client.post(page("grant", "revoke", ident)).status_code == 403
    assert not Revocation.objects.exists()


@pytest.mark.parametrize(
    ("permissions", "sees", "revokes"),
    [
        ((), False, False),
        (("view_grant",), True, False),
        (("change_grant", "delete_grant", "add_grant", "issue_grant"), True, False),
        (("revoke_grant",), False, False),
        (("view_grant", "revoke_grant"), True, True),
    ],
)
def test_who_may_look_and_who_may_revoke(permissions: tuple[str, ...], sees: bool, revokes: bool) -> None:
    ident = issue()
    client = browser(staff(*permissions))
    seen = {client.get(address).status_code for address in (page("grant"), page("grant", "change", ident))}
    assert seen == {200 if sees else 403}
    chosen = {"action": "revoke_selected", "_selected_action": [ident], "decided": "yes"}
    assert client.get(page("grant", "revoke", ident)).status_code == (200 if revokes else 403)
    client.post(page("grant"), chosen)
    assert Revocation.objects.exists() == revokes
    if not revokes:
        assert client.post(page("grant", "revoke", ident)).status_code == 403
        assert not Revocation.objects.exists()


def test_nothing_can_be_edited_or_deleted_even_by_the_superuser(client: Client) -> None:
    ident = issue(note="before")
    client.post(page("grant", "change", ident), {"note": "after"})
    assert Grant.objects.get().note == "before"
    assert client.get(page("grant", "delete", ident)).status_code == 403
    assert client.post(page("grant", "delete", ident), {"post": "yes"}).status_code == 403
    client.post(page("grant"), {"action": "delete_selected", "_selected_action": [ident], "post": "yes"})
    assert Grant.objects.exists()


def test_a_person_can_still_be_deleted_with_their_grants(client: Client, person: User) -> None:
    issue(user=person)
    sessions.create(user=person, scopes=["notes:write"], expires_in=60, site=SITE, client_name="Desk")
    assert client.post(f"/admin/auth/user/{person.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not User.objects.filter(pk=person.pk).exists()
    assert not Grant.objects.exists()


def test_the_permission_to_delete_grants_is_the_one_to_delete_people_who_have_some(person: User) -> None:
    ident = issue(user=person)
    client = browser(staff("auth.delete_user", "auth.view_user", "view_grant"))
    client.post(f"/admin/auth/user/{person.pk}/delete/", {"post": "yes"})
    assert Grant.objects.filter(pk=ident).exists()


def test_a_grant_that_is_not_there_is_told_kindly(client: Client) -> None:
    assert client.get(page("grant", "change", "gr_x"), follow=True).status_code == 200
    assert client.get(page("grant", "revoke", "gr_x")).status_code == 404
    assert client.get(page("grant", "change", "gr_\0"), follow=True).status_code == 200
    chosen = {"action": "revoke_selected", "_selected_action": ["gr_\0"], "decided": "yes"}
    assert client.post(page("grant"), chosen, follow=True).status_code == 200
    assert SigningKey.generate().public not in text_of(client.get(page("grant")))
