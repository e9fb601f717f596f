"""The guided forms: everything that is wrong at once, shown once, issued once, by those who may."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as BrowserSession
from django.test import Client

from agentweb import action
from agentweb.access import revocations, site_keys
from agentweb.access.models import Grant, Mandate, Nonce, Session, SiteKey
from agentweb.catalog.registry import registry
from agentweb.testing import TestAgent, clock
from agentweb.wire.grants import decode_header, verify_chain
from agentweb.wire.signing import SigningKey
from tests.access.signing import AGENT
from tests.support.staff import boss, browser, errors_of, page, staff, text_of

pytestmark = pytest.mark.django_db

NOON = 1_790_000_000.0


def intent(client: Client, model: str = "grant") -> str:
    response = client.get(page(model, "add"))
    assert response.status_code == 200
    return str(response.context["form"]["intent"].value())


def filled(client: Client, model: str = "grant", **changed: Any) -> dict[str, Any]:
    wanted = {
        "intent": intent(client, model),
        "scopes": ["notes:write"],
        "life": "86400",
        **({"subject": AGENT.public, "delegate": "0"} if model == "grant" else {"client_name": "Desk"}),
    }
    return {name: value for name, value in {**wanted, **changed}.items() if value is not None}


def shown(response: Any) -> str:
    """The text that is shown once."""
    found = re.search(r'<textarea id="agentweb-value"[^>]*>([^<]*)</textarea>', response.content.decode())
    assert found, text_of(response)
    return found[1]


def test_a_grant_is_issued_as_the_form_says_and_shown_for_the_agent(client: Client, person: User) -> None:
    with clock(NOON):
        response = client.post(
            page("grant", "add"),
            filled(
                client,
                user=person.pk,
                note="Office supplies",
                scopes=["shop:pay", "notes:write"],
                patterns="cart:* orders:read",
                currency="USD",
                total="200",
                per_tx="12.50",
                delegate="2",
                one_time="on",
            ),
        )
        [grant] = decode_header(shown(response))
    verify_chain([grant], signed_by=AGENT.public)
    assert {
        name: value for name, value in grant.document.items() if name not in {"nonce", "sig", "issuer"}
    } == {
        "type": "agent-grant/0.1",
        "subject": AGENT.public,
        "audience": "shop.example",
        "scopes": ["shop:pay", "notes:write", "cart:*", "orders:read"],
        "mandate": {"currency": "USD", "per_tx": "12.50", "total": "200.00"},
        "one_time": True,
        "delegate": 2,
        "not_before": 1_790_000_000,
        "expires": 1_790_086_400,
        "note": "Office supplies",
    }
    assert Grant.objects.get().user == person
    assert Mandate.objects.get().total == 20_000
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.user.username) == (grant.id, "boss")
    assert AGENT.public in entry.change_message


def test_an_agent_can_call_with_what_was_shown(client: Client, person: User) -> None:
    key = SigningKey.generate()
    response = client.post(page("grant", "add"), filled(client, subject=key.public, user=person.pk))
    agent = TestAgent(key=key)
    agent.grant_header = shown(response)
    assert agent.post("/agent/write_note", {"text": "hello"}).status_code == 200


def test_nobody_can_see_the_text_again(client: Client) -> None:
    sent = filled(client)
    response = client.post(page("grant", "add"), sent)
    text = shown(response)
    assert "no-store" in response["Cache-Control"]
    again = client.post(page("grant", "add"), sent)
    assert again.status_code == 200
    assert "was sent before" in text_of(again)
    assert text not in again.content.decode()
    assert Grant.objects.count() == 1, "a reload issues nothing"
    for other in (page("grant"), page("grant", "change", Grant.objects.get().pk), page("grant", "add")):
        assert text not in client.get(other).content.decode()
    kept = [*BrowserSession.objects.values_list("session_data", flat=True)]
    kept += [str(data) for data in LogEntry.objects.values_list("change_message", "object_repr")]
    kept += [BrowserSession.objects.first().get_decoded().__repr__()]  # type: ignore[union-attr]
    assert all(text not in data for data in kept)


def test_a_form_that_was_refused_can_be_sent_again(client: Client) -> None:
    sent = filled(client)
    SiteKey.objects.all().delete()
    refused = client.post(page("grant", "add"), sent)
    assert "its staff must set up its key" in text_of(refused)
    assert not Nonce.objects.exists()
    site_keys.ensure_active_key()
    assert shown(client.post(page("grant", "add"), sent)).startswith("v1.")


def test_everything_that_is_wrong_is_said_at_once_at_the_fields(client: Client) -> None:
    response = client.post(
        page("grant", "add"),
        filled(
            client,
            subject="ed25519:short",
            scopes=None,
            patterns="car* ok:write *:read",
            currency="USD",
            total="1",
            per_tx="12.345",
            life="custom",
            note="two\u202elines",
            delegate="7",
        ),
    )
    errors = errors_of(response)
    assert set(errors) == {"subject", "patterns", "per_tx", "days", "note", "delegate"}
    assert [message.partition(":")[0] for message in errors["patterns"]] == ["car*", "*"]
    assert not Grant.objects.exists()
    assert "12.345" in response.content.decode(), "what was written stays in the form"


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"subject": ""}, "subject", "required"),
        ({"subject": "session:ss_abcdefghijklmnopqrstuv"}, "subject", "ed25519:"),
        ({"subject": "ed25519:" + "A" * 43}, "subject", "subgroup"),
        ({"scopes": None}, "patterns", "1 to 64"),
        ({"scopes": ["nobody:asks"]}, "scopes", "nobody:asks"),
        ({"life": "5"}, "life", "5"),
        ({"life": "custom", "days": "91"}, "days", "At most 90 days"),
        ({"life": "custom", "days": "0"}, "days", "greater than or equal to 1"),
        ({"life": "custom", "days": "99999999999999999999"}, "days", "At most 90 days"),
        ({"total": "5"}, "currency", "Choose the currency"),
        ({"currency": "USD"}, "total", "in all"),
        ({"currency": "JPY", "total": "1.5"}, "total", "no digits"),
        ({"currency": "USD", "total": "0"}, "total", "more than 0"),
        ({"currency": "USD", "total": "-1"}, "total", "more than 0"),
        ({"currency": "USD", "total": "1e400"}, "total", "at most"),
        ({"currency": "USD", "total": "NaN"}, "total", "number"),
        ({"currency": "USD", "total": "5", "per_tx": "6"}, "per_tx", "at most the total"),
        ({"currency": "XAU", "total": "5"}, "currency", "XAU"),
        ({"user": "12345"}, "user", "valid choice"),
        ({"note": "n" * 201}, "note", "200"),
        ({"intent": "x"}, "intent", "Load the page again"),
    ],
)
def test_what_cannot_be_granted_is_refused_at_its_field(
    client: Client, changed: dict[str, Any], field: str, words: str
) -> None:
    errors = errors_of(client.post(page("grant", "add"), filled(client, **changed)))
    assert set(errors) == {field}
    assert words in " ".join(errors[field])
    assert not Grant.objects.exists()


def test_a_sum_without_a_limit_for_one_purchase_may_be_spent_at_once(client: Client) -> None:
    client.post(page("grant", "add"), filled(client, currency="KWD", total="1.234"))
    mandate = Mandate.objects.get()
    assert (mandate.per_tx, mandate.total) == (1_234, 1_234)


def test_days_of_ones_own_choice(client: Client) -> None:
    with clock(NOON):
        client.post(page("grant", "add"), filled(client, life="custom", days="3"))
    assert Grant.objects.get().expires_at.timestamp() == NOON + 3 * 86_400


def test_periods_longer_than_the_setting_are_not_offered(client: Client, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "GRANT_MAX_DAYS": 7}
    form = client.get(page("grant", "add")).context["form"]
    assert [value for value, _label in form.fields["life"].choices] == ["3600", "86400", "custom"]


def test_a_revoked_key_gets_nothing(client: Client) -> None:
    revocations.revoke(AGENT.public)
    assert set(errors_of(client.post(page("grant", "add"), filled(client)))) == {"subject"}


def test_a_grant_that_no_header_can_carry_is_told_on_the_form(client: Client) -> None:
    patterns = " ".join(f"orders.{'x' * 85}{number:02}:*" for number in range(64))
    errors = errors_of(client.post(page("grant", "add"), filled(client, scopes=None, patterns=patterns)))
    assert set(errors) == {"__all__"}


def test_without_an_origin_no_grant_could_name_its_site(client: Client, settings: Any) -> None:
    sent = filled(client)
    settings.AGENTWEB = {}
    assert "ORIGIN" in errors_of(client.post(page("grant", "add"), sent))["__all__"][0]
    settings.DEBUG = True
    [grant] = decode_header(shown(client.post(page("grant", "add"), sent)))
    assert grant.audience == "testserver"


def test_the_scopes_that_actions_ask_for_are_listed_with_their_titles(client: Client) -> None:
    response = client.get(page("grant", "add"))
    choices = dict(response.context["form"].fields["scopes"].choices)
    assert "Write note" in choices["notes:write"]
    assert "spend" in choices["shop:pay"]
    assert "" not in choices


def test_a_misspelt_scope_is_pointed_out_beside_the_grant(client: Client) -> None:
    response = client.post(page("grant", "add"), filled(client, patterns="notes:writ notes:*"))
    said = text_of(response)
    assert "No action of this site asks for the scope notes:writ." in said
    assert "asks for the scope notes:*" not in said


def test_the_form_needs_its_csrf_token() -> None:
    client = browser(boss(), enforce_csrf_checks=True)
    assert client.post(page("grant", "add"), filled(client)).status_code == 403
    assert not Grant.objects.exists()


def test_staff_who_may_issue_do_so_for_people_but_not_for_other_staff(person: User) -> None:
    clerk = staff("issue_grant", "view_grant", "auth.view_user")
    client = browser(clerk)
    for other in (boss(), staff(name="colleague")):
        errors = errors_of(client.post(page("grant", "add"), filled(client, user=other.pk)))
        assert set(errors) == {"user"}
    for allowed in (person, clerk):
        assert shown(client.post(page("grant", "add"), filled(client, user=allowed.pk)))
    assert Grant.objects.count() == 2


def test_who_may_not_see_people_names_one_by_their_log_in_name(person: User) -> None:
    client = browser(staff("issue_grant"))
    assert 'class="admin-autocomplete' not in client.get(page("grant", "add")).content.decode()
    assert errors_of(client.post(page("grant", "add"), filled(client, user="nobody")))["user"] == [
        "There is no such person."
    ]
    assert shown(client.post(page("grant", "add"), filled(client, user="ann")))
    assert Grant.objects.get().user == person
    assert set(errors_of(client.post(page("grant", "add"), filled(client, user="ann", subject="x")))) == {
        "subject"
    }


@pytest.mark.parametrize("permission", ["view_grant", "add_grant", "change_grant", "revoke_grant"])
@pytest.mark.parametrize("model", ["grant", "session"])
def test_no_other_permission_lets_staff_issue(permission: str, model: str) -> None:
    client = browser(staff(permission, f"view_{model}"))
    assert client.get(page(model, "add")).status_code == 403
    assert client.post(page(model, "add"), {}).status_code == 403
    assert page(model, "add") not in client.get(page(model)).content.decode()


def test_a_session_token_is_shown_once_and_works(client: Client, person: User) -> None:
    sent = filled(client, "session", user=person.pk, note="Desk", currency="USD", total="20")
    response = client.post(page("session", "add"), sent)
    token = shown(response)
    session = Session.objects.get()
    assert (session.user, session.client_name) == (person, "Desk")
    assert Mandate.objects.get(pk=session.grant_id).total == 2_000
    answer = Client().post(
        "/agent/write_note",
        {"text": "hello"},
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )
    assert answer.status_code == 200
    assert "was sent before" in text_of(client.post(page("session", "add"), sent))
    assert Session.objects.count() == 1
    for other in (page("session"), page("session", "change", session.pk), page("grant")):
        assert token not in client.get(other).content.decode()
    assert all(token not in str(row) for row in LogEntry.objects.values_list("change_message", "object_repr"))
    assert [entry.object_id for entry in LogEntry.objects.all()] == [session.pk]


def test_what_is_wrong_with_a_session_is_said_at_its_fields(client: Client) -> None:
    errors = errors_of(
        client.post(
            page("session", "add"),
            filled(client, "session", client_name="evil\u202ename", user=None, scopes=None, note="\u200b"),
        )
    )
    assert set(errors) == {"user", "client_name", "patterns", "note"}
    assert not Session.objects.exists()


def test_the_currencies_that_something_costs_here_stand_first(client: Client) -> None:
    with registry.only():
        action(
            "buy",
            effect="spend",
            scope="a:b",
            description="Buy.",
            input=None,
            cost={"amount": "1.00", "currency": "SEK"},
        )(lambda inp, ctx: None)
        for form in ("grant", "session"):
            field = client.get(page(form, "add")).context["form"].fields["currency"]
            assert [code for code, _label in field.choices][:3] == ["", "SEK", "AED"]
