"""The site's keys: sealed at rest, one active, opened with SECRET_KEY only."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentweb.access import grants, sealing, site_keys
from agentweb.access.models import SiteKey
from agentweb.testing import clock
from agentweb.wire.encoding import b64url
from agentweb.wire.errors import ServerError
from agentweb.wire.signing import SigningKey, verify

pytestmark = pytest.mark.django_db

NOON = 1_790_000_000.0


def active_row() -> SiteKey:
    return SiteKey.objects.get(is_active=True)


# -- sealing


def test_a_sealed_secret_opens_under_its_name_and_key_only() -> None:
    sealed = sealing.seal(b"secret", "row-1")
    assert sealing.unseal(sealed, "row-1", sealing.secret_keys()) == b"secret"
    assert sealing.seal(b"secret", "row-1") != sealed
    for name, keys in (("row-2", sealing.secret_keys()), ("row-1", ("another key",)), ("row-1", ())):
        with pytest.raises(ValueError, match="does not open"):
            sealing.unseal(sealed, name, keys)


@pytest.mark.parametrize(
    "damaged", ["", "v1.", "v1.A", "v2.AAAA", "AAAA", "v1." + "A" * 20, "v1." + "A" * 100]
)
def test_a_damaged_sealed_text_is_told_as_such(damaged: str) -> None:
    with pytest.raises(ValueError, match=r"damaged|does not open"):
        sealing.unseal(damaged, "row-1", sealing.secret_keys())


def test_every_changed_character_of_a_sealed_text_is_noticed() -> None:
    sealed = sealing.seal(b"s" * 32, "row-1")
    for place in range(len(sealed)):
        changed = sealed[:place] + ("B" if sealed[place] == "A" else "A") + sealed[place + 1 :]
        with pytest.raises(ValueError, match=r"damaged|does not open"):
            sealing.unseal(changed, "row-1", sealing.secret_keys())


# -- the active key


def test_the_first_key_is_made_at_first_use_under_debug_only(settings: Any, caplog: Any) -> None:
    with caplog.at_level(logging.ERROR, "agentweb.access"), pytest.raises(ServerError) as caught:
        site_keys.active_key()
    assert (caught.value.code, caught.value.status) == ("unavailable", 503)
    assert "agentweb_keys create" in caplog.text
    assert "agentweb_keys" not in caught.value.message
    assert not SiteKey.objects.exists()
    settings.DEBUG = True
    key = site_keys.active_key()
    assert site_keys.active_key().public == key.public == active_row().public
    settings.DEBUG = False
    assert site_keys.active_key().public == key.public


def test_the_active_key_costs_one_query_and_is_opened_once() -> None:
    site_keys.ensure_active_key()
    with CaptureQueriesContext(connection) as captured:
        first = site_keys.active_key()
        second = site_keys.active_key()
    assert len(captured) == 2
    assert first is second


def test_the_seed_stands_nowhere_in_clear(caplog: Any) -> None:
    with caplog.at_level(logging.DEBUG):
        key = site_keys.ensure_active_key()
        out = io.StringIO()
        for arguments in (["list"], ["list", "--json"], ["rotate"], ["reseal", "--json"]):
            call_command("agentweb_keys", *arguments, stdout=out)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM agentweb_sitekey")
        stored = repr(cursor.fetchall())
    seen = stored + out.getvalue() + caplog.text + repr(key) + str(key) + repr(list(SiteKey.objects.all()))
    for spelling in (b64url(key.seed), key.seed.hex(), repr(key.seed)):
        assert spelling not in seen
    row = SiteKey.objects.get(public=key.public)
    assert row.sealed not in out.getvalue()


def test_a_key_that_secret_key_does_not_open_is_unavailable_and_logged(settings: Any, caplog: Any) -> None:
    site_keys.ensure_active_key()
    settings.SECRET_KEY = "another-secret-key-another-secret-key-another"
    with caplog.at_level(logging.ERROR, "agentweb.access"), pytest.raises(ServerError) as caught:
        site_keys.active_key()
    assert caught.value.code == "unavailable"
    assert "SECRET_KEY_FALLBACKS" in caplog.text
    assert "reseal" in caplog.text


def test_a_row_that_holds_another_rows_secret_does_not_open() -> None:
    site_keys.ensure_active_key()
    row = active_row()
    other = SigningKey.generate()
    row.sealed = sealing.seal(other.seed, row.kid)
    with pytest.raises(ValueError, match="another key"):
        site_keys.open_row(row)


def test_after_secret_key_was_changed_reseal_makes_the_fallback_needless(settings: Any) -> None:
    key = site_keys.ensure_active_key()
    site_keys.rotate()
    former, new = settings.SECRET_KEY, "another-secret-key-another-secret-key-another"
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = new, [former]
    active = site_keys.active_key()
    before = set(SiteKey.objects.values_list("sealed", flat=True))
    assert len(site_keys.reseal()) == 2
    assert not before & set(SiteKey.objects.values_list("sealed", flat=True))
    settings.SECRET_KEY_FALLBACKS = []
    assert site_keys.active_key().public == active.public
    old = SiteKey.objects.get(public=key.public)
    assert site_keys.open_row(old).seed == key.seed
    settings.SECRET_KEY = former
    with pytest.raises(ServerError):
        site_keys.active_key()


def test_reseal_changes_nothing_when_one_key_does_not_open(settings: Any) -> None:
    site_keys.ensure_active_key()
    site_keys.rotate()
    SiteKey.objects.filter(is_active=True).update(sealed="v1.damaged")
    before = list(SiteKey.objects.order_by("kid").values_list("sealed", flat=True))
    with pytest.raises(site_keys.SiteKeyError, match=active_row().kid):
        site_keys.reseal()
    assert list(SiteKey.objects.order_by("kid").values_list("sealed", flat=True)) == before


# -- changing keys


def test_rotation_signs_with_a_new_key_and_keeps_the_old_one_listed() -> None:
    with clock(NOON):
        old = site_keys.ensure_active_key()
        site_keys.rotate()
        new = site_keys.active_key()
        assert new.public != old.public
        assert site_keys.published_keys() == [
            {"kid": new.thumbprint, "kty": "OKP", "crv": "Ed25519", "x": new.public[8:]},
            {
                "kid": old.thumbprint,
                "kty": "OKP",
                "crv": "Ed25519",
                "x": old.public[8:],
                "not_after": int(NOON) + site_keys.RETIREMENT_MARGIN_SECONDS,
            },
        ]
    assert verify(new.public, b"m", new.sign(b"m"))


def test_keys_are_published_newest_first_with_one_query() -> None:
    with clock(NOON) as time:
        made = [site_keys.create().kid]
        for _ in range(3):
            time.forward(10)
            made.append(site_keys.rotate().kid)
    with CaptureQueriesContext(connection) as captured:
        published = site_keys.published_keys()
    assert [key["kid"] for key in published] == made[::-1]
    assert len(captured) == 1


def test_a_revoked_key_is_neither_published_nor_used() -> None:
    old = site_keys.ensure_active_key()
    site_keys.rotate()
    grants.revoke(old.public)
    assert [key["kid"] for key in site_keys.published_keys()] == [active_row().kid]
    grants.revoke(active_row().public)
    assert site_keys.published_keys() == []
    with pytest.raises(ServerError):
        site_keys.active_key()
    site_keys.create()
    assert len(site_keys.published_keys()) == 1


def test_a_replaced_key_signs_until_every_manifest_has_the_new_one() -> None:
    with clock(NOON) as time:
        settling = site_keys.settling_seconds()
        assert settling == 130
        old = site_keys.ensure_active_key()
        new = site_keys.rotate(settling=settling)
        assert [key["kid"] for key in site_keys.published_keys()] == [new.kid, old.thumbprint]
        assert site_keys.published_keys()[1]["not_after"] == int(NOON) + settling + 60
        time.forward(settling - 1)
        assert site_keys.active_key().public == site_keys.ensure_active_key().public == old.public
        time.forward(1)
        assert site_keys.active_key().public == new.public


def test_of_several_replaced_keys_the_oldest_signs_first() -> None:
    with clock(NOON) as time:
        made = [site_keys.create().public]
        for _ in range(2):
            time.forward(10)
            made.append(site_keys.rotate(settling=100).public)
        signers = []
        for _ in range(3):
            signers.append(site_keys.active_key().public)
            time.forward(95)
        assert signers == [made[0], made[1], made[2]]


def test_a_replaced_key_can_be_stopped_before_its_time() -> None:
    with clock(NOON):
        leaked = site_keys.ensure_active_key()
        new = site_keys.rotate(settling=100)
        grants.revoke(leaked.public)
        assert site_keys.active_key().public == new.public
        newer = site_keys.rotate(settling=100)
        assert site_keys.active_key().public == new.public
        assert site_keys.retire(new.kid) is True
        assert site_keys.retire(new.kid) is False
        assert site_keys.active_key().public == newer.public


def test_create_and_rotate_refuse_what_makes_no_sense() -> None:
    with pytest.raises(site_keys.SiteKeyError, match="create"):
        site_keys.rotate()
    row = site_keys.create()
    with pytest.raises(site_keys.SiteKeyError, match="rotate"):
        site_keys.create()
    assert SiteKey.objects.get() == row


def test_retiring_the_active_key_leaves_none_until_one_is_created() -> None:
    row = site_keys.create()
    assert site_keys.retire(row.kid) is True
    assert site_keys.retire(row.kid) is False
    with pytest.raises(ServerError):
        site_keys.active_key()
    with pytest.raises(site_keys.SiteKeyError, match="no key"):
        site_keys.retire("unknown")
    assert site_keys.create().kid != row.kid
