"""Keys in the admin: the site's own and people's."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from agentweb.access import grants, site_keys
from agentweb.access.models import Grant, PrincipalKey, Revocation, SiteKey
from agentweb.testing import clock
from agentweb.wire.signing import SigningKey
from tests.access.signing import AGENT, PERSON, SITE
from tests.support.staff import boss, browser, errors_of, page, staff, text_of

pytestmark = pytest.mark.django_db


def test_the_secret_half_of_a_key_is_on_no_page(client: Client) -> None:
    row = SiteKey.objects.get()
    for address in (page("sitekey"), page("sitekey", "change", row.kid), page("sitekey", "retire", row.kid)):
        response = client.get(address)
        assert response.status_code == 200
        assert row.sealed not in response.content.decode()
    assert row.public in text_of(client.get(page("sitekey", "change", row.kid)))


def test_rotating_asks_first_and_keeps_the_old_key_to_verify_with(client: Client) -> None:
    old = site_keys.active_key().thumbprint
    assert "signs in a few minutes" in text_of(client.get(page("sitekey", "rotate")))
    assert site_keys.active_key().thumbprint == old
    response = client.post(page("sitekey", "rotate"), follow=True)
    new = SiteKey.objects.get(is_active=True).kid
    assert site_keys.active_key().thumbprint == old != new
    assert f"The key {new} is published and signs in a few minutes." in text_of(response)
    assert [key["kid"] for key in site_keys.published_keys()] == [new, old]
    assert LogEntry.objects.get().object_id == new


def test_the_list_says_which_key_signs_while_a_new_one_settles(client: Client) -> None:
    with clock() as time:
        client.post(page("sitekey", "rotate"))
        said = text_of(client.get(page("sitekey")))
        assert "published, signs soon" in said
        assert "still signs" in said
        time.forward(86_400)
        said = text_of(client.get(page("sitekey")))
        assert "active" in said
        assert "retired" in said.lower()
        assert "signs" not in said


def test_retiring_leaves_the_site_without_a_key_until_one_is_made(client: Client) -> None:
    row = SiteKey.objects.get()
    client.post(page("sitekey", "retire", row.kid))
    assert not SiteKey.objects.filter(is_active=True).exists()
    listed = client.get(page("sitekey")).content.decode()
    assert page("sitekey", "create") in listed
    assert page("sitekey", "rotate") not in listed
    assert "nothing to decide" in text_of(client.post(page("sitekey", "retire", row.kid), follow=True))
    client.post(page("sitekey", "create"))
    assert SiteKey.objects.get(is_active=True).kid != row.kid


@pytest.mark.parametrize(
    ("permissions", "may"),
    [(("view_sitekey",), False), (("change_sitekey",), True), (("view_sitekey", "delete_sitekey"), False)],
)
def test_who_may_rotate(permissions: tuple[str, ...], may: bool) -> None:
    old = site_keys.active_key().thumbprint
    client = browser(staff(*permissions))
    assert client.get(page("sitekey")).status_code == 200
    assert client.post(page("sitekey", "rotate")).status_code == (302 if may else 403)
    assert (SiteKey.objects.get(is_active=True).kid != old) == may
    assert client.post(page("sitekey", "delete", old), {"post": "yes"}).status_code == 403


def test_a_persons_key_is_enrolled(client: Client, person: User) -> None:
    sent = {"user": person.pk, "public": PERSON.public, "label": "laptop"}
    client.post(page("principalkey", "add"), sent)
    row = PrincipalKey.objects.get()
    assert (row.user, row.public, row.label) == (person, PERSON.public, "laptop")
    assert LogEntry.objects.get().object_id == str(row.pk)
    assert set(errors_of(client.post(page("principalkey", "add"), sent))) == {"public"}, "only once"


def test_everything_that_is_wrong_with_an_enrolment_is_said_at_once(client: Client, person: User) -> None:
    wrong = {"user": "", "public": "ed25519:x", "label": "two\u202elines"}
    assert set(errors_of(client.post(page("principalkey", "add"), wrong))) == {"user", "public", "label"}
    person.is_active = False
    person.save()
    sent: dict[str, Any] = {"user": person.pk, "public": PERSON.public, "label": ""}
    assert set(errors_of(client.post(page("principalkey", "add"), sent))) == {"user"}
    own = site_keys.active_key().public
    assert "public" in errors_of(client.post(page("principalkey", "add"), {**sent, "public": own}))
    assert not PrincipalKey.objects.exists()


def test_for_other_staff_only_a_superuser_enrols_a_key() -> None:
    client = browser(staff("add_principalkey", "auth.view_user"))
    sent = {"user": boss().pk, "public": PERSON.public}
    assert set(errors_of(client.post(page("principalkey", "add"), sent))) == {"user"}
    assert (
        browser(staff("view_principalkey", name="other")).get(page("principalkey", "add")).status_code == 403
    )


def test_revoking_a_persons_key_ends_what_it_issued(client: Client, person: User) -> None:
    row = PrincipalKey.objects.create(
        user=person, public=PERSON.public, label="<b>x</b>", created_at="2026-01-01T00:00Z"
    )
    assert "<b>x</b>" not in client.get(page("principalkey")).content.decode()
    client.post(page("principalkey", "revoke", row.pk), {"reason": "stolen"})
    row.refresh_from_db()
    assert row.revoked_at is not None
    assert Revocation.objects.get().ident == PERSON.public
    assert (
        page("principalkey", "revoke", row.pk)
        not in client.get(page("principalkey", "change", row.pk)).content.decode()
    )


def test_an_agents_key_is_revoked_by_itself(client: Client) -> None:
    ident = grants.issue(subject=AGENT.public, scopes=["notes:write"], expires_in=60, site=SITE)[0].id
    response = client.post(page("revocation", "add"), {"ident": AGENT.public, "reason": "spam"}, follow=True)
    assert f"Revoked: {AGENT.public}" in text_of(response)
    assert Grant.objects.get(pk=ident).revoked_at is not None
    row = Revocation.objects.get()
    assert "spam" in text_of(client.get(page("revocation", "change", row.pk)))
    again = client.post(page("revocation", "add"), {"ident": AGENT.public}, follow=True)
    assert "Revoked before: " in text_of(again)
    assert LogEntry.objects.count() == 1


def test_what_is_no_grant_and_no_key_is_not_revoked(client: Client) -> None:
    for ident in ("", "gr_short", "ed25519:x", "session:x"):
        assert set(errors_of(client.post(page("revocation", "add"), {"ident": ident}))) == {"ident"}
    own = site_keys.active_key().public
    assert (
        "the site's own key" in errors_of(client.post(page("revocation", "add"), {"ident": own}))["ident"][0]
    )
    assert not Revocation.objects.exists()


def test_only_who_may_revoke_does_so_by_id() -> None:
    client = browser(staff("view_revocation", "add_revocation"))
    assert client.get(page("revocation")).status_code == 200
    sent = {"ident": SigningKey.generate().public}
    assert client.post(page("revocation", "add"), sent).status_code == 403
    assert (
        browser(staff("revoke_grant", name="other")).post(page("revocation", "add"), sent).status_code == 302
    )
    assert Revocation.objects.count() == 1
