"""Writing receipts: each is signed, numbered and chained to the one before (AGENT_ACTIONS section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import connections, transaction

from agentweb.access import rows
from agentweb.access.callers import Caller
from agentweb.ledger.models import Receipt, ReceiptHead, ReceiptParty
from agentweb.signals import receipt_issued
from agentweb.wire import canonical
from agentweb.wire.clock import from_unix, now
from agentweb.wire.receipts import build_receipt, receipt_hash
from agentweb.wire.signing import SigningKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What one receipt tells. ``grants`` are the ids of the chain, the agent's own first; ``parties`` may read it."""

    id: str
    action: str
    request_id: str
    agent: str
    grants: Sequence[str]
    parties: Sequence[str]
    item: str
    amount: int
    currency: str
    kind: str = Receipt.Kind.CHARGE.value
    agreement: str | None = None
    refund_of: str | None = None
    reason: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


def grants_of(caller: Caller) -> list[str]:
    """Ids of the caller's chain, leaf first: those that pay."""
    return [member.id for member in reversed(caller.chain)]


def parties_of(caller: Caller) -> list[str]:
    """Everyone who holds or issued a grant of the chain (the site's own key too: nobody can call with it)."""
    keys = {caller.subject}
    for member in caller.chain:
        keys |= {member.subject, member.issuer}
    return sorted(keys)


def write(
    entries: Sequence[Entry], site: str, key: SigningKey, *, is_told: bool = False
) -> list[dict[str, Any]]:
    """Sign and chain these receipts, in the open transaction; returns the documents.

    Takes the head row, so it must be the transaction's last lock. ``key`` is read before the transaction begins. The
    signal ``receipt_issued`` follows the commit, unless the caller sees to that (``is_told``).
    """
    if not entries:
        return []
    seq, prev = _advance(site, len(entries))
    issued = int(now())
    documents: list[dict[str, Any]] = []
    receipts: list[Receipt] = []
    parties: list[ReceiptParty] = []
    for entry in entries:
        seq += 1
        document = build_receipt(
            key=key,
            id=entry.id,
            kind=entry.kind,
            site=site,
            seq=seq,
            prev=prev,
            issued_at=issued,
            action=entry.action,
            request=entry.request_id,
            agent=entry.agent,
            grant=entry.grants[0] if entry.grants else "",
            root=entry.grants[-1] if entry.grants else "",
            item=entry.item,
            amount=entry.amount,
            currency=entry.currency,
            agreement=entry.agreement,
            refund_of=entry.refund_of,
            reason=entry.reason,
        )
        prev = receipt_hash(document)
        documents.append(document)
        receipts.append(
            Receipt(
                id=entry.id,
                site=site,
                seq=seq,
                kind=entry.kind,
                hash=prev,
                issued_at=from_unix(issued),
                action=entry.action,
                request_id=entry.request_id,
                agent=entry.agent,
                grant=document["grant"],
                root=document["root"],
                grants=list(entry.grants),
                item=entry.item,
                amount=entry.amount,
                currency=entry.currency,
                metadata=entry.metadata,
                refund_of=entry.refund_of or "",
                document=canonical.canonicalize(document).decode(),
            )
        )
        parties += [ReceiptParty(receipt_id=entry.id, party=party, seq=seq) for party in entry.parties]
    rows.insert(receipts)
    rows.insert(parties)
    rows.update(ReceiptHead, {"hash": prev}, {"site": site})
    if not is_told:
        for document in documents:
            told = partial(receipt_issued.send_robust, sender=document["action"], receipt=document)
            transaction.on_commit(told, using=rows.database(), robust=True)
    return documents


def _advance(site: str, count: int) -> tuple[int, str | None]:
    """Lock the head and reserve ``count`` positions: (last used position, hash of its receipt)."""
    found = _move(site, count)
    if found is None:
        rows.insert_if_absent([ReceiptHead(site=site, seq=0, hash="")])
        found = _move(site, count)
    if found is None:
        raise RuntimeError(f"The head of the receipts of {site} was deleted meanwhile.")
    seq, last = found
    return seq - count, last or None


def _move(site: str, count: int) -> tuple[int, str] | None:
    """(the new position, hash of the last receipt); None when there is no head yet."""
    # Written out: composing it anew for each spend costs several times what running it does.
    connection = connections[rows.database()]
    table = connection.ops.quote_name(ReceiptHead._meta.db_table)
    # See ``limits``: not every SQLite knows RETURNING.
    returns = connection.features.can_return_columns_from_insert
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET seq = seq + %s WHERE site = %s{' RETURNING seq, hash' if returns else ''}",  # noqa: S608
            [count, site],
        )
        if not returns:
            cursor.execute(f"SELECT seq, hash FROM {table} WHERE site = %s", [site])  # noqa: S608
        found = cursor.fetchall()
    return found[0] if found else None
