"""What the agent learns from receipts: money spent under each grant, and whether the site's log holds still."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from agentweb.client.keystore import SiteRecord
from agentweb.wire.errors import AgentError, ClientError, Code, MoneyError
from agentweb.wire.grants import GrantDocument
from agentweb.wire.money import format_amount, parse_amount
from agentweb.wire.receipts import RECEIPT_LABEL, Keys, keys_by_id, receipt_hash, verify_receipt
from agentweb.wire.strict_json import Json

MAX_FOUND: Final = 100
MAX_CANDIDATES: Final = 1_000
"""What looks like a receipt and is checked: a hostile answer may hold very many, and each costs a signature."""
MAX_GRANTS: Final = 1_000
"""Grants of one site whose money is counted. A site can sign receipts of grants that nobody has; then those that the
agent holds count."""
MAX_COUNTED: Final = 10_000
"""Receipts of one site that are remembered as counted, the newest, until all are read: the key store has an end."""


def receipts_in(value: Json, *, site: str, keys: Keys) -> tuple[dict[str, Any], ...]:
    """The receipts in an action's result that are really this site's, each once.

    Among the first ``MAX_CANDIDATES`` that look like one, and at most ``MAX_FOUND``.
    """
    known = keys_by_id(keys)
    found: dict[str, dict[str, Any]] = {}
    for document in islice(_documents(value), MAX_CANDIDATES):
        # The site first, because it costs nothing.
        if document.get("site") == site and verify_receipt(document, known) is None:
            found.setdefault(receipt_hash(document), document)
        if len(found) == MAX_FOUND:
            break
    return tuple(found.values())


def count(
    record: SiteRecord,
    receipts: Iterable[Mapping[str, Any]],
    *,
    held: Collection[str] = (),
    after: int | None = None,
) -> SiteRecord:
    """The record with these verified receipts counted, each once however often it is seen.

    ``held`` are the ids of the grants that the agent holds. ``after``: every receipt of ours up to this number is
    among them or was counted earlier.
    """
    spent, counted = dict(record.spent), dict(record.counted)
    for receipt in receipts:
        if receipt["seq"] <= record.after or receipt["id"] in counted:
            continue
        counted[receipt["id"]] = receipt["seq"]
        minor = parse_amount(receipt["amount"], receipt["currency"])
        for grant in {receipt["grant"], receipt["root"]}:
            spent[grant] = max(0, spent.get(grant, 0) + (minor if receipt["kind"] == "charge" else -minor))
    last = record.after if after is None else max(record.after, after)
    if len(spent) > MAX_GRANTS:
        spent = {grant: minor for grant, minor in spent.items() if grant in held}
    remembered = {name: seq for name, seq in counted.items() if seq > last}
    if len(remembered) > MAX_COUNTED:
        # One that is forgotten counts twice if it is seen again: rather too much than too little is spent.
        newest = sorted(remembered, key=lambda name: (-remembered[name], name))[:MAX_COUNTED]
        remembered = {name: remembered[name] for name in newest}
    return SiteRecord(head=record.head, after=last, spent=spent, counted=remembered)


def beyond(
    record: SiteRecord,
    receipts: Iterable[Mapping[str, Any]],
    *,
    action: str,
    grant: str | None,
    cost: tuple[int, str] | None,
) -> dict[str, Any] | None:
    """What a call took beyond what was shown, ``{"charged", "currency", "shown"}``, None when all is as it was shown.

    By the verified receipts of this action under this grant that were never seen before (``record`` is from before they
    are counted). ``cost`` is (minor units, currency), None for an action that was said to cost nothing.
    """
    sums: dict[tuple[str, str], int] = {}
    for receipt in receipts:
        is_new = receipt["seq"] > record.after and receipt["id"] not in record.counted
        if is_new and (receipt["kind"], receipt["action"], receipt["grant"]) == ("charge", action, grant):
            of = receipt["currency"], receipt["request"]
            sums[of] = sums.get(of, 0) + parse_amount(receipt["amount"], receipt["currency"])
    for (currency, _request), minor in sorted(sums.items()):
        if cost is None or currency != cost[1] or minor > cost[0]:
            shown = None if cost is None else {"amount": format_amount(*cost), "currency": cost[1]}
            return {"charged": format_amount(minor, currency), "currency": currency, "shown": shown}
    return None


def newer_head(known: Mapping[str, Any] | None, head: dict[str, Any]) -> dict[str, Any]:
    """Of two verified heads the one of the longer log: another process may have kept a newer one meanwhile.

    Raises as ``check_head`` for two of one length that differ.
    """
    if known is not None and known["seq"] > head["seq"]:
        return dict(known)
    check_head(known, head, ())
    return head


def believe(record: SiteRecord, grant: GrantDocument, error: AgentError) -> SiteRecord:
    """The record after ``mandate_exceeded``: at least as much is spent as the site says is no longer left."""
    left, mandate = error.extra.get("remaining"), grant.mandate
    if mandate is None or error.extra.get("limit") != "total" or not isinstance(left, str):
        return record
    try:
        # "0.00" is no amount, and means that nothing is left.
        rest = parse_amount(left, mandate.currency) if left.strip("0.") else 0
    except MoneyError:
        return record
    known = record.spent.get(grant.id, 0)
    return replace(record, spent={**record.spent, grant.id: max(known, mandate.total - rest)})


def check_head(
    known: Mapping[str, Any] | None, head: Mapping[str, Any], receipts: Iterable[Mapping[str, Any]]
) -> None:
    """Does a verified new head agree with the one kept and with the receipts just read?

    Raises ClientError ``response_invalid``, reason ``truncated`` (the log became shorter) or ``head`` (another
    log).
    """
    if known is not None:
        if head["seq"] < known["seq"]:
            raise _rewritten("truncated", f"it ended with {known['seq']} and ends with {head['seq']} now")
        if head["seq"] == known["seq"] and head["hash"] != known["hash"]:
            raise _rewritten("head", f"its receipt {head['seq']} is another than before")
    for receipt in receipts:
        if receipt["seq"] > head["seq"]:
            raise _rewritten("truncated", f"receipt {receipt['seq']} lies beyond its end")
        for signed in filter(None, (known, head)):
            if receipt["seq"] == signed["seq"] and receipt_hash(receipt) != signed["hash"]:
                raise _rewritten("head", f"receipt {receipt['seq']} is another than the head says")


def _rewritten(reason: str, what: str) -> ClientError:
    return ClientError(
        Code.RESPONSE_INVALID,
        f"The site's log of receipts was changed: {what}. Keep your receipts and ask the site.",
        reason=reason,
    )


def _documents(value: Json) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("type") == RECEIPT_LABEL:
            yield value
        for item in value.values():
            yield from _documents(item)
    elif isinstance(value, list):
        for item in value:
            yield from _documents(item)
