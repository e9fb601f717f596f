"""``manage.py agentweb_keys``: a key's whole life from the command line."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agentweb.access import site_keys
from agentweb.access.models import SiteKey
from agentweb.testing import clock

pytestmark = pytest.mark.django_db


def keys(*arguments: str) -> str:
    out = io.StringIO()
    call_command("agentweb_keys", *arguments, stdout=out)
    return out.getvalue()


def as_json(*arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(keys(*arguments, "--json"))
    return answer


def test_a_site_without_a_key_is_told_how_to_make_one() -> None:
    assert "agentweb_keys create" in keys()
    assert as_json() == {"done": "", "keys": []}


def test_a_key_is_created_rotated_and_retired() -> None:
    assert "signs from now on" in keys("create")
    first = site_keys.active_key()
    assert f"{first.thumbprint}  {first.public}  active" in keys("list")
    assert "still verifies" in keys("rotate", "--now")
    second = site_keys.active_key()
    listed = as_json("list")["keys"]
    assert [(key["kid"], key["public"], key["active"]) for key in listed] == [
        (second.thumbprint, second.public, True),
        (first.thumbprint, first.public, False),
    ]
    assert listed[0]["not_after"] is None
    assert listed[1]["not_after"] >= listed[1]["created_at"]
    said = keys("retire", second.thumbprint)
    assert "is retired" in said
    assert "cannot sign" in said
    assert "was retired before" in keys("retire", second.thumbprint)


def test_a_new_key_waits_until_every_manifest_has_it() -> None:
    with clock(1_790_000_000.0) as time:
        keys("create")
        old = site_keys.active_key()
        assert "is published now and signs from 2026-09-21 14:15:30 UTC on" in keys("rotate")
        assert site_keys.active_key().public == old.public
        assert f"{old.public}  signs until 2026-09-21 14:15:30 UTC" in keys()
        time.forward(130)
        new = site_keys.active_key()
        assert new.public != old.public
        assert f"{new.public}  active" in keys()
        assert f"{old.public}  retired 2026-09-21 14:15 UTC" in keys()


def test_now_goes_with_rotate_only() -> None:
    with pytest.raises(CommandError, match="--now"):
        keys("create", "--now")


def test_keys_are_sealed_anew(settings: Any) -> None:
    keys("create")
    keys("rotate")
    active = site_keys.active_key()
    former = settings.SECRET_KEY
    settings.SECRET_KEY = "another-secret-key-another-secret-key-another"
    with pytest.raises(CommandError, match="SECRET_KEY_FALLBACKS"):
        keys("reseal")
    settings.SECRET_KEY_FALLBACKS = [former]
    assert "2 keys are sealed" in keys("reseal")
    settings.SECRET_KEY_FALLBACKS = []
    assert site_keys.active_key().public == active.public


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rotate"], "create"),
        (["retire"], "needs the kid"),
        (["retire", "unknown"], "no key unknown"),
        (["list", "kid"], "nothing else takes one"),
        (["destroy"], "invalid choice"),
    ],
)
def test_what_cannot_be_done_is_an_error_that_says_why(arguments: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        keys(*arguments)
    assert not SiteKey.objects.exists()


def test_a_second_active_key_is_not_created() -> None:
    keys("create")
    with pytest.raises(CommandError, match="rotate"):
        keys("create")
