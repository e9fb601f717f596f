"""Receipts: signed by the site, chained without a gap, readable by their parties (AGENT_ACTIONS section 4)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from agentweb.access import site_keys
from agentweb.access.callers import Caller
from agentweb.ledger import entries
from agentweb.ledger.charges import Charge
from agentweb.ledger.entries import Entry
from agentweb.ledger.models import Receipt, ReceiptHead
from agentweb.wire.clock import now
from agentweb.wire.errors import Code, MoneyError
from agentweb.wire.money import format_amount
from agentweb.wire.receipts import receipt_hash, sign_head, verify_receipt
from agentweb.wire.signing import SigningKey
from agentweb.wire.strict_json import Json

MAX_PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class Occasion:
    """The call that receipts are issued for."""

    site: str
    action: str
    request_id: str
    caller: Caller


def append(charges: list[Charge], occasion: Occasion, key: SigningKey) -> list[dict[str, Any]]:
    """Sign and chain a receipt for each charge, in the open transaction; returns the documents.

    Takes the head row, so it must be the transaction's last lock: call it when the handler is done.
    ``key`` is read before the transaction begins. Whoever calls sends ``receipt_issued``.
    """
    caller = occasion.caller
    grants, parties = entries.grants_of(caller), entries.parties_of(caller)
    written = [
        Entry(
            id=charge.id,
            action=occasion.action,
            request_id=occasion.request_id,
            agent=caller.subject,
            grants=grants,
            parties=parties,
            item=charge.item,
            amount=charge.amount,
            currency=charge.currency,
            agreement=charge.agreement,
            metadata=charge.metadata,
        )
        for charge in charges
    ]
    return entries.write(written, occasion.site, key, is_told=True)


def page(caller: Caller, *, site: str, after: int, limit: int) -> tuple[list[Json], str | None]:
    """The caller's own receipts with ``seq > after``, oldest first, and the cursor of the next page or None.

    Only those of ``site``: a database that served under several origins holds a chain for each.
    """
    limit = max(1, min(limit, MAX_PAGE))
    positions = list(
        Receipt.objects.filter(site=site, parties__party=_reader(caller), parties__seq__gt=after)
        .order_by("parties__seq")
        .values_list("seq", "document")[: limit + 1]
    )
    more = len(positions) > limit
    positions = positions[:limit]
    return [json.loads(document) for _, document in positions], str(positions[-1][0]) if more else None


def find(caller: Caller, receipt_id: str, *, site: str) -> Json:
    """One receipt of the caller's own; somebody else's does not exist for this caller."""
    document = (
        Receipt.objects.filter(pk=receipt_id[:64], site=site, parties__party=_reader(caller))
        .values_list("document", flat=True)
        .first()
    )
    if document is None:
        raise MoneyError(Code.RECEIPT_NOT_FOUND, "You have no receipt with this id.")
    found: Json = json.loads(document)
    return found


def of_request(request_id: str) -> tuple[dict[str, Any], ...]:
    """The receipts of one call, in their order; for a caller who is known to have made it."""
    found = Receipt.objects.filter(request_id=request_id, kind=Receipt.Kind.CHARGE).order_by("seq")
    return tuple(json.loads(document) for document in found.values_list("document", flat=True))


def _reader(caller: Caller) -> str:
    return caller.agent_key or caller.subject


def verify(document: Json) -> dict[str, Json]:
    """Whether a receipt is this site's and stands in its log; tells nothing that the receipt does not hold.

    ``{"valid", "reason", "in_log"}`` and, when it is in the log, ``status`` (charged, partly_refunded, refunded)
    and ``refunded``, the amount given back.
    """
    reason = verify_receipt(document, site_keys.published_keys())
    if reason is not None or not isinstance(document, dict):
        return {"valid": False, "reason": reason or "malformed", "in_log": False}
    row = Receipt.objects.filter(pk=str(document["id"]), hash=receipt_hash(document)).first()
    answer: dict[str, Json] = {"valid": True, "reason": None, "in_log": row is not None}
    if row is not None and row.kind == Receipt.Kind.CHARGE:
        if not row.refunded:
            answer["status"] = "charged"
        else:
            answer["status"] = "refunded" if row.refunded == row.amount else "partly_refunded"
        answer["refunded"] = format_amount(row.refunded, row.currency)
    return answer


def signed_head(site: str) -> dict[str, Json]:
    """The end of the chain, signed: a client that keeps it can see a receipt vanish later."""
    head = ReceiptHead.objects.filter(pk=site).first()
    return sign_head(
        site=site,
        seq=head.seq if head else 0,
        hash=(head.hash or None) if head else None,
        at=int(now()),
        key=site_keys.active_key(),
    )
