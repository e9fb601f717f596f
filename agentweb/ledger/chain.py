"""Looking the site's own receipt chain over, a bounded stretch at a time, from its end back to its beginning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from agentweb.access import site_keys
from agentweb.ledger.models import Receipt, ReceiptHead
from agentweb.wire.errors import AgentError
from agentweb.wire.money import format_amount
from agentweb.wire.receipts import keys_by_id, receipt_hash, verify_receipt
from agentweb.wire.strict_json import loads

MOST: Final = 1_000
"""Receipts of one stretch: about half a second of signatures."""

_COLUMNS: Final = ("id", "kind", "site", "seq", "action", "agent", "grant", "root", "item", "currency")


@dataclass(frozen=True, slots=True)
class Stretch:
    """``first`` to ``last`` were looked at. ``faults`` are (number, id, reason); none means that all of it holds.

    Reasons are those of ``wire.receipts`` (malformed, signature, unknown_key, key_retired, prev) and ``missing`` (a
    number without a receipt), ``row`` (the columns say something else than the document that was signed) and
    ``head`` (the chain does not end where its head says).
    """

    site: str
    first: int
    last: int
    faults: tuple[tuple[int, str, str], ...]

    @property
    def reaches_beginning(self) -> bool:
        return self.first <= 1


def sites() -> list[str]:
    """The sites that have a chain in this database; a site that changed its name has several."""
    return list(ReceiptHead.objects.order_by("site").values_list("site", flat=True))


def look_over(site: str, *, last: int | None = None, count: int = MOST) -> Stretch:
    """Verify the ``count`` receipts up to number ``last``, or up to the end; three queries at most."""
    head = ReceiptHead.objects.filter(pk=site).first()
    end = head.seq if head is not None else 0
    last = end if last is None else min(last, end)
    first = max(1, last - count + 1)
    rows = {
        row.seq: row for row in Receipt.objects.filter(site=site, seq__gte=max(1, first - 1), seq__lte=last)
    }
    keys = keys_by_id(site_keys.published_keys())
    faults: list[tuple[int, str, str]] = []
    for seq in range(first, last + 1):
        row = rows.get(seq)
        if row is None:
            faults.append((seq, "", "missing"))
            continue
        reason = what_is_wrong(row, rows.get(seq - 1), keys)
        if reason is not None:
            faults.append((seq, row.pk, reason))
    if head is not None and last == end and end and end in rows and rows[end].hash != head.hash:
        faults.append((end, rows[end].pk, "head"))
    return Stretch(site=site, first=first, last=last, faults=tuple(faults))


def what_is_wrong(row: Receipt, before: Receipt | None, keys: Any = None) -> str | None:
    """Why a receipt does not hold in its chain, or None. ``before`` is the row of the number before it."""
    document = read(row)
    if document is None:
        return "malformed"
    reason = verify_receipt(document, site_keys.published_keys() if keys is None else keys)
    if reason is not None:
        return reason
    if receipt_hash(document) != row.hash or not _agrees(row, document):
        return "row"
    if row.seq == 1:
        return None if document["prev"] is None else "prev"
    if before is None:
        return "missing"
    return None if document["prev"] == before.hash else "prev"


def read(row: Receipt) -> dict[str, Any] | None:
    """The signed document of a row; None when it cannot be read."""
    try:
        document = loads(row.document.encode())
    except (AgentError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def _agrees(row: Receipt, document: dict[str, Any]) -> bool:
    try:
        amount = format_amount(row.amount, row.currency)
    except ValueError:
        return False
    told = {name: getattr(row, name) for name in _COLUMNS} | {"amount": amount, "request": row.request_id}
    return all(document.get(name) == value for name, value in told.items())
