"""Grants of the site: issued, stored, loaded, used."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from agentweb.access import grants, site_keys
from agentweb.access.models import Grant, Mandate
from agentweb.testing import clock
from agentweb.wire.errors import InputError
from agentweb.wire.grants import Mandate as Terms
from agentweb.wire.grants import check_audience, check_time, verify_chain
from tests.access.signing import AGENT, SITE

pytestmark = pytest.mark.django_db

NOON = 1_790_000_000.0
WANTED: dict[str, Any] = {"subject": AGENT.public, "scopes": ["cart:*"], "expires_in": 3_600, "site": SITE}


@pytest.fixture(autouse=True)
def site_key(db: None) -> None:
    site_keys.ensure_active_key()


def problems(**wanted: Any) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        grants.issue(**{**WANTED, **wanted})
    assert not Grant.objects.exists()
    return {entry["field"]: entry["code"] for entry in caught.value.problems or []}


def test_a_grant_that_no_header_can_carry_is_not_issued() -> None:
    assert problems(scopes=[f"orders.{'x' * 85}{number:02}:*" for number in range(64)]) == {"": "format"}


def test_an_issued_grant_verifies_and_says_what_was_asked(person: User) -> None:
    with clock(NOON):
        [grant] = grants.issue(
            **{**WANTED, "scopes": ["cart:*", "checkout", "cart:*"]},
            mandate=Terms("USD", 5_000, 20_000),
            delegate=2,
            one_time=True,
            user=person,
            note="Office supplies",
        )
    verify_chain([grant], signed_by=AGENT.public)
    check_audience([grant], SITE)
    check_time([grant], NOON)
    assert {name: value for name, value in grant.document.items() if name not in {"nonce", "sig"}} == {
        "type": "agent-grant/0.1",
        "issuer": site_keys.active_key().public,
        "subject": AGENT.public,
        "audience": SITE,
        "scopes": ["cart:*", "checkout"],
        "mandate": {"currency": "USD", "per_tx": "50.00", "total": "200.00"},
        "one_time": True,
        "delegate": 2,
        "not_before": 1_790_000_000,
        "expires": 1_790_003_600,
        "note": "Office supplies",
    }
    row = Grant.objects.get()
    assert (row.pk, row.root_id, row.parent_id, row.user, row.note) == (
        grant.id,
        grant.id,
        "",
        person,
        grant.note,
    )
    assert (row.created_at.timestamp(), row.expires_at.timestamp()) == (NOON, 1_790_003_600)
    mandate = Mandate.objects.get(pk=grant.id)
    assert (mandate.currency, mandate.per_tx, mandate.total, mandate.max_uses) == ("USD", 5_000, 20_000, 1)


def test_a_stored_grant_is_loaded_as_it_was_issued_with_one_query() -> None:
    chain = grants.issue(**WANTED)
    with CaptureQueriesContext(connection) as captured:
        assert grants.load(chain[0].id) == chain
    assert len(captured) == 1
    assert grants.load("gr_" + "A" * 22) is None


def test_two_grants_for_the_same_are_two() -> None:
    assert grants.issue(**WANTED)[0].id != grants.issue(**WANTED)[0].id


def test_grant_and_mandate_rows_are_stored_together_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(chain: Any) -> None:
        raise IntegrityError("no room")

    monkeypatch.setattr(grants.mandates, "ensure_rows", fail)
    with pytest.raises(IntegrityError):
        grants.issue(**WANTED, mandate=Terms("USD", 1, 1))
    assert not Grant.objects.exists()


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"subject": "ed25519:short"}, {"subject": "format"}),
        ({"subject": "session:"}, {"subject": "format"}),
        ({"subject": None}, {"subject": "format"}),
        ({"scopes": []}, {"scopes": "count"}),
        ({"scopes": "cart:*"}, {"scopes": "count"}),
        ({"scopes": ["s"] * 65}, {"scopes": "count"}),
        (
            {"scopes": ["ok", "car*", "*:read", "**"]},
            dict.fromkeys(("scopes.1", "scopes.2", "scopes.3"), "format"),
        ),
        ({"expires_in": 0}, {"expires_in": "range"}),
        ({"expires_in": True}, {"expires_in": "range"}),
        ({"expires_in": 90 * 86_400 + 1}, {"expires_in": "range"}),
        ({"mandate": Terms("usd", 1, 1)}, {"mandate.currency": "currency"}),
        ({"mandate": Terms("USD", 0, -1)}, {"mandate.per_tx": "range", "mandate.total": "range"}),
        ({"mandate": Terms("USD", 2, 1)}, {"mandate.per_tx": "range"}),
        ({"mandate": Terms("USD", 1, 10**15 + 1)}, {"mandate.total": "range"}),
        ({"delegate": 4}, {"delegate": "range"}),
        ({"one_time": "yes"}, {"one_time": "type"}),
        ({"user": User(is_active=False)}, {"user": "inactive"}),
        ({"note": "n" * 201}, {"note": "format"}),
        ({"note": "two\nlines"}, {"note": "format"}),
        ({"site": "Shop.Example"}, {"": "format"}),
        ({"site": "https://shop.example"}, {"": "format"}),
    ],
)
def test_what_cannot_be_granted_is_refused(wanted: dict[str, Any], expected: dict[str, str]) -> None:
    assert problems(**wanted) == expected


def test_everything_that_is_wrong_is_told_at_once() -> None:
    wrong = {"subject": "x", "scopes": ["**"], "expires_in": -1, "delegate": 9, "note": "\x00"}
    assert set(problems(**wrong)) == {"subject", "scopes.0", "expires_in", "delegate", "note"}


def test_the_setting_bounds_the_life_of_a_grant(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "GRANT_MAX_DAYS": 1}
    assert problems(expires_in=86_401) == {"expires_in": "range"}
    assert grants.issue(**{**WANTED, "expires_in": 86_400})
    settings.AGENTWEB = {**settings.AGENTWEB, "GRANT_MAX_DAYS": 365}
    assert grants.issue(**{**WANTED, "expires_in": 365 * 86_400})


def test_nothing_is_granted_to_a_revoked_key() -> None:
    grants.revoke(AGENT.public)
    assert problems() == {"subject": "revoked"}


def test_a_session_may_be_the_subject() -> None:
    [grant] = grants.issue(**{**WANTED, "subject": "session:abcdefghijklmnop"})
    assert grant.subject == "session:abcdefghijklmnop"


def test_two_who_saw_a_stale_use_write_it_once() -> None:
    with clock(NOON) as time:
        ident = grants.issue(**WANTED)[0].id
        grants.touch(ident)
        time.forward(30)
        grants.touch(ident)
        assert Grant.objects.get().last_used_at.timestamp() == NOON
        time.forward(30)
        grants.touch(ident)
        assert Grant.objects.get().last_used_at.timestamp() == NOON + 60
