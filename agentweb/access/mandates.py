"""Mandate rows: one for each grant of a chain that limits money or uses (AGENT_ACTIONS 3.2).

The rows come into being here; the conditional UPDATE that spends from them is the ledger's.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentweb.access.models import Mandate
from agentweb.access.rows import insert_if_absent
from agentweb.wire.clock import from_unix
from agentweb.wire.grants import GrantDocument


def ids(chain: Sequence[GrantDocument]) -> tuple[str, ...]:
    """Ids of the members that have a mandate row, leaf first: the one order in which rows are locked."""
    return tuple(grant.id for grant in reversed(chain) if _is_limited(grant))


def ensure_rows(chain: Sequence[GrantDocument]) -> None:
    """Make the missing rows of a chain; afterwards each member of ``ids()`` has one.

    A row that exists stays as it is, spent and revoked too. Works inside a transaction of any kind.
    """
    insert_if_absent([_row(grant) for grant in reversed(chain) if _is_limited(grant)])


def spent_of(grants: Sequence[str]) -> dict[str, int]:
    """What was spent under each of these grants that has a row, in minor units of its currency."""
    return dict(Mandate.objects.filter(pk__in=grants).values_list("pk", "spent"))


def _is_limited(grant: GrantDocument) -> bool:
    return grant.mandate is not None or grant.one_time


def _row(grant: GrantDocument) -> Mandate:
    row = Mandate(
        grant_id=grant.id, max_uses=1 if grant.one_time else None, expires_at=from_unix(grant.expires)
    )
    if grant.mandate is not None:
        row.currency = grant.mandate.currency
        row.per_tx = grant.mandate.per_tx
        row.total = grant.mandate.total
    return row
