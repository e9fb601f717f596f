"""Whether all money is where it was said to be: the buyers' journals against the site's rows and the provider's books.

Nothing here knows how the site works inside; only what its answers, receipts and rows mean.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from tests.e2e.crash.breaches import Breach, Breaches
from tests.e2e.crash.journal import Line
from tests.e2e.crash.money.intents import PROVIDER, UNPAID

CHARGE: Final = "charge"
REFUND: Final = "refund"
Row = Mapping[str, Any]


class Rule(StrEnum):
    """What must hold, by the name of its breach."""

    CHAIN = "the receipts do not form a chain that ends in the signed head"
    LOST = "what was answered as done has no receipt"
    PAID_TWICE = "an intent was paid more than once"
    PAID_FOR_NOTHING = "money of a call that came to nothing was kept"
    PRICE = "an intent was paid with another sum than its price"
    DONE_TWICE = "a handler's own row was written twice for one key"
    HALF_DONE = "a handler's own row and its money do not stand together"
    TAKEN = "the provider took money of which there is no receipt"
    NOT_TAKEN = "there is a receipt of money that the provider has not taken"
    GIVEN = "the refunds of the provider and those of the site's receipts differ"
    MANDATE = "a mandate has not spent what its receipts say, net of refunds"
    OVERSPENT = "a mandate has spent more than its total"
    USES = "a grant was not used as often as its calls were done"
    USED_TWICE = "a grant for one use was used more than once"
    OVER_REFUNDED = "more than a charge was given back"
    REFUNDED = "a charge's receipt does not count what its refunds gave back"
    REFUND_TWICE = "a refund was given twice for one key"
    REFUND_LOST = "a refund that was answered as given has no receipt"
    AGREEMENT_TWICE = "an agreement was used more than once"
    AGREEMENT = "an agreement and the receipt that used it up do not name each other"
    UNSETTLED = "a payment or refund did not come to its end"
    STUCK = "a key is held by a run that is over"
    KEPT = "an acknowledged answer is not the one that is kept"
    ANSWERS_DIFFER = "one call got two answers"
    UNANSWERED = "a call got no final answer although the servers were up at the end"
    ANSWER = "a call got an answer that nothing explains"


@dataclass
class Evidence:
    """``snapshot`` is that of ``evidence``; ``buyers`` are journals by name."""

    snapshot: Mapping[str, Any]
    buyers: Mapping[str, Sequence[Line]]
    found: Breaches = field(default_factory=Breaches)

    def rows(self, name: str) -> Sequence[Row]:
        rows: Sequence[Row] = self.snapshot[name]
        return rows


@dataclass
class Asked:
    """An intent and what its buyer was told."""

    line: Line
    oks: list[Any] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    is_lost: bool = False
    gave_up: bool = False

    @property
    def is_sure(self) -> bool:
        """Whether the buyer knows what became of it."""
        return bool(self.oks) or (bool(self.refusals) and not self.is_lost)

    @property
    def charge_key(self) -> str:
        """The Idempotency-Key under which it pays."""
        return f"{self.line['id']}:1" if self.line["what"] == "deal" else str(self.line["id"])


def judge(evidence: Evidence) -> list[Breach]:
    """What does not hold; nothing when all does."""
    evidence.found.clear()
    asked = _asked(evidence)
    if evidence.snapshot["chain"] is not None:
        evidence.found.add(Rule.CHAIN, str(evidence.snapshot["chain"]))
    for look in (_answers, _purchases, _notes, _books, _mandates, _one_time, _refunds, _agreements, _ends):
        look(evidence, asked)
    return evidence.found.in_order(Rule)


def _asked(evidence: Evidence) -> dict[str, Asked]:
    found: dict[str, Asked] = {}
    for lines in evidence.buyers.values():
        for line in lines:
            match line["is"]:
                case "intent":
                    found[line["id"]] = Asked(line)
                case "answer" if line["ok"]:
                    found[line["id"]].oks.append(line["value"])
                case "answer":
                    found[line["id"]].refusals.append(line["code"])
                case "lost":
                    found[line["id"]].is_lost = True
                case "gave up":
                    found[line["id"]].gave_up = True
                case "unexplained":
                    evidence.found.add(Rule.ANSWER, f"{line['status']} {line['code']}: {line['text']}")
    return found


def _answers(evidence: Evidence, asked: Mapping[str, Asked]) -> None:
    """Each call has an answer, always the same, and it is the one that the site has kept."""
    records = {row["key"]: row for row in evidence.rows("records")}
    for ident, each in asked.items():
        said = f"{each.line['what']} {ident}"
        if not each.oks and not each.refusals and not each.gave_up:
            evidence.found.add(Rule.UNANSWERED, said)
        if each.line["what"] in {"accept", "negotiate"}:
            continue  # An offer has no key, and is answered anew.
        if any(value != each.oks[0] for value in each.oks):
            evidence.found.add(Rule.ANSWERS_DIFFER, f"{said}: {each.oks}")
        if not each.oks:
            continue
        if each.line["what"] == "deal":
            outputs = {f"{ident}:{step['step']}": step["output"] for step in each.oks[0]["steps"]}
        else:
            outputs = {ident: each.oks[0]}
        for key, output in outputs.items():
            record = records.get(key)
            if record is None or record["state"] != "done" or json.loads(record["body"]) != output:
                evidence.found.add(Rule.KEPT, f"{said}: {record}")


def _live(evidence: Evidence) -> dict[str, list[Row]]:
    """The charges by the key that paid them; without those that were taken for nothing and go back by themselves."""
    undone = {row["receipt"] for row in evidence.rows("refunds") if row["automatic"]}
    found: dict[str, list[Row]] = defaultdict(list)
    for row in evidence.rows("receipts"):
        if row["kind"] == CHARGE and row["id"] not in undone:
            found[row["intent"]].append(row)
    return found


def _purchases(evidence: Evidence, asked: Mapping[str, Asked]) -> None:
    live = _live(evidence)
    for ident, each in asked.items():
        if each.line["what"] in UNPAID:
            continue
        charges, meant = live.get(each.charge_key, []), each.line["charges"]
        said = f"{each.line['mode']} {each.line['what']} {ident}: {len(charges)} charges"
        if each.oks:
            _bought(evidence, each, charges, said)
        elif charges and each.is_sure:
            evidence.found.add(Rule.PAID_FOR_NOTHING, said)
        elif len(charges) not in {0, meant}:
            evidence.found.add(Rule.PAID_TWICE, said)


def _bought(evidence: Evidence, each: Asked, charges: Sequence[Row], said: str) -> None:
    answer = each.oks[0]["value"] if each.line["what"] == "deal" else each.oks[0]
    if set(answer["receipts"]) - {row["id"] for row in charges}:
        evidence.found.add(Rule.LOST, said)
    elif len(charges) != each.line["charges"]:
        evidence.found.add(Rule.PAID_TWICE, said)
    elif sum(row["amount"] for row in charges) != each.line["price"]:
        evidence.found.add(Rule.PRICE, said)
    elif any(row["grants"] != each.line["grants"] for row in charges):
        evidence.found.add(Rule.PRICE, f"{said}, paid by other grants")


def _notes(evidence: Evidence, asked: Mapping[str, Asked]) -> None:
    """The handler's own rows: one for each call that was done, and none of any other."""
    notes = Counter(key for key, _grant, _effect in evidence.rows("notes"))
    for key, count in notes.items():
        if count > 1:
            evidence.found.add(Rule.DONE_TWICE, f"{key}: {count} times")
    live = _live(evidence)
    for ident, each in asked.items():
        what = each.line["what"]
        if what == "bargain":
            is_done, expected = bool(notes[ident]), bool(each.oks)
        elif what in UNPAID or (not each.line["charges"] and what != "buy_and_refuse"):
            continue
        else:
            is_done, expected = bool(notes[each.charge_key]), bool(live.get(each.charge_key))
        if is_done != expected and not (what == "bargain" and each.is_lost):
            evidence.found.add(Rule.HALF_DONE, f"{each.line['mode']} {what} {ident}: row {is_done}")


def _books(evidence: Evidence, asked: Mapping[str, Asked]) -> None:
    """What the provider took and gave, against the receipts of its payments."""
    outside = {row["id"] for row in evidence.rows("payments")}
    taken = {row["id"]: row["amount"] for row in evidence.rows("taken")}
    charges = {row["id"]: row for row in evidence.rows("receipts") if row["kind"] == CHARGE}
    for ident, amount in taken.items():
        if ident not in charges or charges[ident]["amount"] != amount:
            evidence.found.add(Rule.TAKEN, f"{ident}: {amount}")
    by_provider = {key for key, each in _by_charge(asked).items() if each.line["mode"] == PROVIDER}
    for ident, row in charges.items():
        if (ident in outside or row["intent"] in by_provider) and ident not in taken:
            evidence.found.add(Rule.NOT_TAKEN, f"{ident} of {row['intent']}")
    given = {row["id"]: (row["charge"], row["amount"]) for row in evidence.rows("given")}
    done = {
        row["id"]: (row["receipt"], row["amount"])
        for row in evidence.rows("refunds")
        if row["state"] == "done" and row["receipt"] in outside
    }
    for ident in {*given, *done}:
        if given.get(ident) != done.get(ident):
            evidence.found.add(
                Rule.GIVEN, f"{ident}: provider {given.get(ident)}, receipts {done.get(ident)}"
            )


def _by_charge(asked: Mapping[str, Asked]) -> dict[str, Asked]:
    return {each.charge_key: each for each in asked.values()}


def _mandates(evidence: Evidence, asked: Mapping[str, Asked]) -> None:
    spent: Counter[str] = Counter()
    for row in evidence.rows("receipts"):
        for grant in row["grants"]:
            spent[grant] += row["amount"] if row["kind"] == CHARGE else -row["amount"]
    chains = {each.line["grants"][0]: each.line["grants"] for each in asked.values()}
    uses: Counter[str] = Counter()
    for _key, leaf, effect in evidence.rows("notes"):
        if effect == "spend":
            uses.update(chains[leaf])
    for row in evidence.rows("mandates"):
        if row["spent"] != spent[row["id"]]:
            evidence.found.add(Rule.MANDATE, f"{row['id']}: {row['spent']}, receipts {spent[row['id']]}")
        if row["total"] and row["spent"] > row["total"]:
            evidence.found.add(Rule.OVERSPENT, f"{row['id']}: {row['spent']} of {row['total']}")
        if row["uses"] != uses[row["id"]]:
            evidence.found.add(Rule.USES, f"{row['id']}: {row['uses']}, done {uses[row['id']]}")


def _one_time(evidence: Evidence, asked: Mapping[str, Asked]) -> None:
    once = {each.line["grants"][0] for each in asked.values() if "grant_used" in each.line["may"]}
    done = Counter(leaf for _key, leaf, effect in evidence.rows("notes") if leaf in once)
    for grant, count in done.items():
        if count > 1:
            evidence.found.add(Rule.USED_TWICE, f"{grant}: {count} times")


def _refunds(evidence: Evidence, asked: Mapping[str, Asked]) -> None:
    back: Counter[str] = Counter()
    receipts = {row["id"]: row for row in evidence.rows("receipts")}
    for row in receipts.values():
        if row["kind"] == REFUND:
            back[row["refund_of"]] += row["amount"]
    for ident, amount in back.items():
        charge = receipts.get(ident)
        if charge is None or amount > charge["amount"]:
            evidence.found.add(Rule.OVER_REFUNDED, f"{ident}: {amount} of {charge}")
    for row in receipts.values():
        if row["kind"] == CHARGE and row["refunded"] != back[row["id"]]:
            evidence.found.add(Rule.REFUNDED, f"{row['id']}: {row['refunded']}, receipts {back[row['id']]}")
    by_reason: dict[str, list[Row]] = defaultdict(list)
    for row in evidence.rows("refunds"):
        by_reason[row["reason"]].append(row)
    for ident, each in asked.items():
        if each.line["what"] != "refund":
            continue
        rows = by_reason[each.line["body"]["reason"]]
        if len(rows) > 1:
            evidence.found.add(Rule.REFUND_TWICE, f"{ident}: {len(rows)}")
        for value in each.oks:
            told = value["refund"]
            row = next((row for row in rows if row["id"] == told["id"]), None)
            if row is None or (told["state"] == "done" and row["refund_receipt"] not in receipts):
                evidence.found.add(Rule.REFUND_LOST, f"{ident}: {told}")


def _agreements(evidence: Evidence, asked: Mapping[str, Asked]) -> None:
    by_agreement: dict[str, list[str]] = defaultdict(list)
    for row in evidence.rows("receipts"):
        if row["kind"] == CHARGE and row["agreement"]:
            by_agreement[row["agreement"]].append(row["id"])
    for row in evidence.rows("agreements"):
        used = by_agreement.pop(row["id"], [])
        if len(used) > 1:
            evidence.found.add(Rule.AGREEMENT_TWICE, f"{row['id']}: {used}")
        elif used != ([row["receipt"]] if row["receipt"] else []):
            evidence.found.add(Rule.AGREEMENT, f"{row['id']}: {row['receipt']}, receipts {used}")
    for ident, used in by_agreement.items():
        evidence.found.add(Rule.AGREEMENT, f"{ident} is not there: {used}")


def _ends(evidence: Evidence, asked: Mapping[str, Asked]) -> None:
    for row in evidence.rows("payments"):
        if row["state"] in {"pending", "captured"}:
            evidence.found.add(Rule.UNSETTLED, f"payment {row['id']} is {row['state']}")
    for row in evidence.rows("refunds"):
        if row["state"] in {"pending", "processing"}:
            evidence.found.add(Rule.UNSETTLED, f"refund {row['id']} is {row['state']}")
    for row in evidence.rows("records"):
        each = asked.get(row["key"].partition(":")[0])
        # A refusal gives the key back; a copy of the request that comes then begins anew, and nobody asks again when it
        # is killed. So the key of who was refused may wait for its lease to end.
        may_wait = each is not None and (each.gave_up or (each.refusals and not each.oks))
        if row["state"] != "done" and not may_wait:
            evidence.found.add(Rule.STUCK, f"{row['key']} of {each.line['what'] if each else 'nobody'}")
