"""Receipts of money and the chain they form: build, hash, verify (AGENT_ACTIONS 4).

Each receipt of a site carries the hash of the one before (``prev``) and a number without gaps (``seq``). A head
that the site signed and somebody kept shows everything else: an edit, a swap, a gap and a cut tail.

The functions that verify answer a reason, or None when all is well; they never raise for a bad document:

========== =====================================================================================
malformed   not a receipt (or head) of this version: a member is missing, unknown or wrong
unknown_key no published key has this ``kid``
key_retired issued after the end of its key (``not_after``)
signature   not signed by that key, or changed since
site        from another site than the rest
order       ``seq`` does not count on by one: reordered, repeated or left out
prev        the hash of the receipt before is another: edited, or a gap
truncated   the head counts further than the receipts
head        the head contradicts the receipts
========== =====================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentweb.wire.canonical import digest
from agentweb.wire.money import format_amount
from agentweb.wire.receipt_shape import HEAD_LABEL, RECEIPT_LABEL, check_head, check_receipt
from agentweb.wire.signing import SigningKey, sign_document
from agentweb.wire.site_documents import Keys, keys_by_id, what_is_wrong_with_key
from agentweb.wire.strict_json import Json

__all__ = [
    "HEAD_LABEL",
    "RECEIPT_LABEL",
    "Keys",
    "build_receipt",
    "check_head",
    "keys_by_id",
    "receipt_hash",
    "sign_head",
    "verify_chain",
    "verify_head",
    "verify_receipt",
]


def build_receipt(
    *,
    key: SigningKey,
    id: str,
    kind: str,
    site: str,
    seq: int,
    prev: str | None,
    issued_at: int,
    action: str,
    request: str,
    agent: str,
    grant: str,
    root: str,
    item: str,
    amount: int,
    currency: str,
    agreement: str | None = None,
    refund_of: str | None = None,
    reason: str | None = None,
) -> dict[str, Any]:
    """The signed receipt. ``amount`` is minor units and becomes a text; ``prev`` is None for ``seq`` 1 only.

    Raises ValueError when the result would be malformed.
    """
    document = {
        "type": RECEIPT_LABEL,
        "id": id,
        "kind": kind,
        "site": site,
        "seq": seq,
        "prev": prev,
        "issued_at": issued_at,
        "action": action,
        "request": request,
        "agent": agent,
        "grant": grant,
        "root": root,
        "item": item,
        "amount": format_amount(amount, currency),
        "currency": currency,
        "agreement": agreement,
        "refund_of": refund_of,
        "reason": reason,
        "kid": key.thumbprint,
    }
    signed = sign_document(document, key, label=RECEIPT_LABEL)
    check_receipt(signed)
    return signed


def receipt_hash(document: Mapping[str, Any]) -> str:
    """``"sha256:"`` and hex of the canonical whole document, ``sig`` included: the next receipt's ``prev``."""
    return digest(dict(document))


def verify_receipt(document: Json, keys: Keys, at: float | None = None) -> str | None:
    """Why the receipt does not hold, or None. ``keys`` are the manifest's, retired ones included.

    ``at`` is when the receipt is known to have existed, by default its own ``issued_at``: a key that has
    ended signs nothing new.
    """
    try:
        receipt = check_receipt(document)
    except ValueError:
        return "malformed"
    return what_is_wrong_with_key(
        receipt, keys, RECEIPT_LABEL, receipt["issued_at"] if at is None else max(at, receipt["issued_at"])
    )


def sign_head(
    *, key: SigningKey, site: str, seq: int, hash: str | None, at: int, label: str = HEAD_LABEL
) -> dict[str, Any]:
    """The site's word that its chain ended with ``hash`` at number ``seq``, at time ``at``.

    An empty chain is ``seq`` 0 and ``hash`` None; ``label`` is the head's type. Raises ValueError when the result
    would be malformed.
    """
    head = {"type": label, "site": site, "seq": seq, "hash": hash, "at": at, "kid": key.thumbprint}
    signed = sign_document(head, key, label=label)
    check_head(signed, label)
    return signed


def verify_head(document: Json, keys: Keys, *, label: str = HEAD_LABEL) -> str | None:
    """Why the head does not hold, or None."""
    try:
        head = check_head(document, label)
    except ValueError:
        return "malformed"
    return what_is_wrong_with_key(head, keys, label, head["at"])


def verify_chain(
    documents: Sequence[Json],
    head: Json = None,
    *,
    keys: Keys | None = None,
    previous: Json = None,
) -> str | None:
    """Why these receipts are not the site's whole chain, or None.

    They go from the first receipt, or from just after the kept head ``previous``, up to ``head``. Without a
    head a cut tail cannot be seen. With ``keys`` the signatures of the heads and of every receipt are
    verified too; without, the heads are taken as already verified.
    """
    try:
        receipts = [check_receipt(document) for document in documents]
        start = check_head(previous) if previous is not None else None
        end = check_head(head) if head is not None else None
    except ValueError:
        return "malformed"
    if keys is not None:
        keys = keys_by_id(keys)
        reasons = [verify_head(known, keys) for known in (start, end) if known is not None]
        reasons += [verify_receipt(receipt, keys) for receipt in receipts]
        found = next(filter(None, reasons), None)
        if found:
            return found
    sites = {document["site"] for document in (start, *receipts, end) if document is not None}
    if len(sites) > 1:
        return "site"
    last_seq, last_hash = (start["seq"], start["hash"]) if start is not None else (0, None)
    for receipt in receipts:
        if receipt["seq"] != last_seq + 1:
            return "order"
        if receipt["prev"] != last_hash:
            return "prev"
        last_seq, last_hash = receipt["seq"], receipt_hash(receipt)
    if end is not None and end["seq"] > last_seq:
        return "truncated"
    if end is not None and (end["seq"], end["hash"]) != (last_seq, last_hash):
        return "head"
    return None
