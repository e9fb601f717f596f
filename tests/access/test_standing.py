"""What the database says about a chain, for every kind of user model."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from agentweb.access import grants, standing
from agentweb.access.models import Grant
from agentweb.wire.errors import AuthenticationError
from tests.access.signing import AGENT, site_grant

pytestmark = pytest.mark.django_db


def test_check_standing_serves_callers_who_hold_no_key(person: User) -> None:
    site_grant(user=person)
    chain = grants.issue(
        subject="session:abcdefghijklmnop", scopes=["cart:*"], expires_in=60, site="shop.example", user=person
    )
    found = grants.check_standing(chain, "session:abcdefghijklmnop")
    assert (found.user_id, found.user_is_active, found.used_lately) == (person.pk, True, False)
    grants.revoke(chain[0].id)
    with pytest.raises(AuthenticationError) as caught:
        grants.check_standing(chain, "session:abcdefghijklmnop")
    assert caught.value.code == "grant_revoked"


def test_a_user_model_without_an_active_column_is_asked_itself(
    person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    site_grant(user=person)
    chain = grants.load(Grant.objects.get().pk)
    assert chain is not None
    standing._statement.cache_clear()
    monkeypatch.setattr(standing, "_active_is_a_column", lambda: False)
    try:
        assert standing.look_up(chain, AGENT.public).user_is_active
        User.objects.update(is_active=False)
        assert not standing.look_up(chain, AGENT.public).user_is_active
    finally:
        standing._statement.cache_clear()


def test_the_statement_asks_for_any_number_of_members() -> None:
    for ids in range(1, 5):
        for idents in range(ids + 2, ids + 6):
            sql, params = standing._statement("default", ids, idents)
            slots: list[Any] = [param for param in params if str(param).startswith("?")]
            assert sql.count("%s") == len(params)
            assert len(slots) == ids + idents + 2
