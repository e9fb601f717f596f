"""Mandate rows come into being once, as the documents say."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from agentweb.access import mandates
from agentweb.access.models import Mandate
from agentweb.wire.grants import GrantDocument, attenuate, parse_grant
from agentweb.wire.grants import Mandate as Terms
from tests.access.signing import AGENT, OTHER, PERSON, person_grant

TERMS = Terms("JPY", 500, 2_000)


def parsed(chain: list[dict[str, Any]]) -> list[GrantDocument]:
    return [parse_grant(document) for document in chain]


def chain_of_three() -> list[dict[str, Any]]:
    chain = attenuate([person_grant(delegate=2, mandate=TERMS)], AGENT, subject=OTHER.public, delegate=1)
    return attenuate(chain, OTHER, subject=PERSON.public, one_time=True)


def test_only_members_with_a_limit_have_a_row_and_the_leaf_comes_first() -> None:
    root, middle, leaf = parsed(chain_of_three())
    assert mandates.ids([root, middle, leaf]) == (leaf.id, root.id)
    assert middle.id not in mandates.ids([root, middle, leaf])


@pytest.mark.django_db
def test_rows_say_what_the_documents_say() -> None:
    root, middle, leaf = parsed(chain_of_three())
    mandates.ensure_rows([root, middle, leaf])
    rows = Mandate.objects.in_bulk()
    assert set(rows) == {root.id, leaf.id}
    assert (rows[root.id].currency, rows[root.id].per_tx, rows[root.id].total) == ("JPY", 500, 2_000)
    assert (rows[root.id].max_uses, rows[leaf.id].max_uses) == (None, 1)
    assert (rows[leaf.id].currency, rows[leaf.id].per_tx, rows[leaf.id].total) == ("", 0, 0)
    assert rows[root.id].expires_at.timestamp() == root.expires


@pytest.mark.django_db
def test_a_row_that_exists_stays_as_it_is_spent_and_revoked() -> None:
    chain = parsed([person_grant(mandate=TERMS)])
    mandates.ensure_rows(chain)
    at = timezone.now()
    Mandate.objects.update(spent=300, uses=2, revoked_at=at)
    with transaction.atomic():
        mandates.ensure_rows(chain)
        row = Mandate.objects.get()
    assert (row.spent, row.uses, row.revoked_at) == (300, 2, at)


@pytest.mark.django_db
def test_a_chain_without_limits_has_no_rows() -> None:
    mandates.ensure_rows(parsed([person_grant()]))
    assert not Mandate.objects.exists()
