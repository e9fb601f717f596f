"""The oracle of the shop says nothing of a run in which all held, and names the rule that did not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.crash.journal import Line
from tests.e2e.crash.money.oracle import Evidence, Rule, judge

CHAIN = ["gr_leaf", "gr_root"]


class Recorded:
    """What was recorded of a buyer that did each thing once, on either server."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.snapshot: dict[str, Any] = {
            "chain": None,
            "receipts": [],
            "taken": [],
            "given": [],
            "payments": [],
            "refunds": [],
            "mandates": [
                {"id": "gr_leaf", "total": 5_000, "spent": 0, "uses": 0},
                {"id": "gr_root", "total": 9_000, "spent": 0, "uses": 0},
                {"id": "gr_once", "total": 1_000, "spent": 0, "uses": 0},
            ],
            "agreements": [{"id": "ag_1", "receipt": "rc_e"}, {"id": "ag_2", "receipt": "rc_i"}],
            "records": [],
            "notes": [],
        }
        self.buys("a", "ledger", 1_000)
        self.buys("b", "provider", 1_000)
        self.refunds("r", "rc_b", 500)
        self.intends("c", "buy_and_refuse", "provider", price=600)
        self.refuses("c", "closed")
        self.charges("c", "rc_c", 600, "provider")
        self.gives_back("rf_c", "rc_c", 600, reason="It failed.", automatic=True)
        self.intends("d", "bargain", "ledger")
        self.answers("d", {"agreement": "ag_1", "price": "7.00"})
        self.snapshot["notes"].append(["d", "gr_leaf", "write"])
        self.buys("e", "ledger", 700, "buy_agreed", agreement="ag_1")
        self.intends("f", "buy_agreed", "ledger", charges=1, price=700)
        self.refuses("f", "agreement_used")
        # A copy of the same request, killed when the answer was there: no fault.
        self.snapshot["records"].append({"key": "f", "state": "running", "status": None, "body": ""})
        self.buys("g", "ledger", 300, grants=["gr_once"], may=["grant_used"])
        self.intends("h", "buy", "ledger", charges=1, price=300, grants=["gr_once"], may=["grant_used"])
        self.refuses("h", "grant_used")
        self.deals("i", 400)
        self.intends("j", "buy", "provider", charges=1, price=200)
        self.lines += [{"is": "lost", "id": "j"}, {"is": "gave up", "id": "j"}]
        self.snapshot["records"].append({"key": "j", "state": "running", "status": None, "body": ""})
        self.lines.append({"is": "wait", "code": "payment_unknown"})

    def intends(self, ident: str, what: str, mode: str, **more: Any) -> None:
        line = {"is": "intent", "id": ident, "what": what, "mode": mode, "grants": CHAIN}
        self.lines.append({**line, "charges": 0, "price": 0, "may": [], "body": {}, **more})

    def answers(self, ident: str, value: Any) -> None:
        self.lines.append({"is": "answer", "id": ident, "ok": True, "code": "", "value": value})
        self.keeps(ident, value)

    def keeps(self, key: str, value: Any) -> None:
        self.snapshot["records"].append(
            {"key": key, "state": "done", "status": 200, "body": json.dumps(value)}
        )

    def refuses(self, ident: str, code: str) -> None:
        self.lines.append({"is": "answer", "id": ident, "ok": False, "code": code, "value": None})

    def buys(self, ident: str, mode: str, price: int, what: str = "buy", **more: Any) -> None:
        agreement = more.pop("agreement", None)
        self.intends(ident, what, mode, charges=1, price=price, **more)
        receipt = f"rc_{ident}"
        self.charges(ident, receipt, price, mode, agreement, more.get("grants", CHAIN))
        self.snapshot["notes"].append([ident, more.get("grants", CHAIN)[0], "spend"])
        self.uses(more.get("grants", CHAIN))
        self.answers(ident, {"receipts": [receipt]})

    def deals(self, ident: str, price: int) -> None:
        self.intends(ident, "deal", "ledger", charges=1, price=price)
        outputs = [{"agreement": "ag_2", "price": "4.00"}, {"receipts": [f"rc_{ident}"]}]
        self.charges(f"{ident}:1", f"rc_{ident}", price, "ledger", "ag_2")
        self.snapshot["notes"] += [[f"{ident}:0", CHAIN[0], "write"], [f"{ident}:1", CHAIN[0], "spend"]]
        self.uses(CHAIN)
        steps = [{"step": at, "action": "…", "output": output} for at, output in enumerate(outputs)]
        self.lines.append(
            {
                "is": "answer",
                "id": ident,
                "ok": True,
                "code": "",
                "value": {"value": outputs[1], "steps": steps},
            }
        )
        for at, output in enumerate(outputs):
            self.keeps(f"{ident}:{at}", output)

    def charges(
        self,
        key: str,
        receipt: str,
        amount: int,
        mode: str,
        agreement: str | None = None,
        grants: list[str] = CHAIN,
    ) -> None:
        row = {"id": receipt, "kind": "charge", "amount": amount, "refunded": 0, "grants": grants}
        self.snapshot["receipts"].append({**row, "refund_of": "", "agreement": agreement, "intent": key})
        self.spends(grants, amount)
        if mode == "provider":
            self.snapshot["payments"].append({"id": receipt, "state": "done"})
            self.snapshot["taken"].append({"id": receipt, "amount": amount})

    def spends(self, grants: list[str], amount: int) -> None:
        for row in self.snapshot["mandates"]:
            row["spent"] += amount if row["id"] in grants else 0

    def uses(self, grants: list[str]) -> None:
        for row in self.snapshot["mandates"]:
            row["uses"] += row["id"] in grants

    def refunds(self, ident: str, receipt: str, amount: int) -> None:
        self.intends(ident, "refund", "provider", body={"reason": ident})
        self.gives_back(f"rf_{ident}", receipt, amount, reason=ident)
        self.answers(ident, {"refund": {"id": f"rf_{ident}", "state": "done"}})

    def gives_back(self, ident: str, of: str, amount: int, *, reason: str, automatic: bool = False) -> None:
        charge = self.receipt(of)
        charge["refunded"] += amount
        own = {"id": f"rc_{ident}", "kind": "refund", "amount": amount, "refunded": 0, "refund_of": of}
        self.snapshot["receipts"].append({**own, "grants": charge["grants"], "agreement": None, "intent": ""})
        self.snapshot["refunds"].append(
            {
                "id": ident,
                "state": "done",
                "reason": reason,
                "receipt": of,
                "refund_receipt": own["id"],
                "amount": amount,
                "automatic": automatic,
            }
        )
        self.snapshot["given"].append({"id": ident, "charge": of, "amount": amount})
        self.spends(charge["grants"], -amount)

    def receipt(self, ident: str) -> dict[str, Any]:
        return self.row("receipts", ident)

    def row(self, table: str, ident: str) -> dict[str, Any]:
        [row] = [row for row in self.snapshot[table] if row.get("id", row.get("key")) == ident]
        found: dict[str, Any] = row
        return found

    def drop(self, table: str, ident: str) -> None:
        self.snapshot[table].remove(self.row(table, ident))

    def line(self, kind: str, ident: str) -> Line:
        [line] = [line for line in self.lines if line["is"] == kind and line["id"] == ident]
        return line

    def breaches(self) -> set[Any]:
        return {breach.rule for breach in judge(Evidence(self.snapshot, {"buyer-0": self.lines}))}


def test_nothing_is_said_where_all_held() -> None:
    assert judge(Evidence(Recorded().snapshot, {"buyer-0": Recorded().lines})) == []


def _break_the_chain(recorded: Recorded) -> None:
    recorded.snapshot["chain"] = "prev"


def _lose_a_receipt(recorded: Recorded) -> None:
    recorded.drop("receipts", "rc_a")


def _charge_again(recorded: Recorded) -> None:
    recorded.charges("a", "rc_a2", 1_000, "ledger")


def _charge_what_was_given_up_twice(recorded: Recorded) -> None:
    for receipt in ("rc_j", "rc_j2"):
        recorded.charges("j", receipt, 200, "provider")
    recorded.snapshot["notes"].append(["j", "gr_leaf", "spend"])
    recorded.uses(CHAIN)


def _keep_money_of_a_refusal(recorded: Recorded) -> None:
    recorded.charges("f", "rc_f", 700, "ledger")
    recorded.snapshot["notes"].append(["f", "gr_leaf", "spend"])
    recorded.uses(CHAIN)


def _charge_another_sum(recorded: Recorded) -> None:
    recorded.line("intent", "a")["price"] += 1


def _charge_another_grant(recorded: Recorded) -> None:
    recorded.line("intent", "a")["grants"] = [*CHAIN, "gr_other"]


def _run_twice(recorded: Recorded) -> None:
    recorded.snapshot["notes"].append(["d", "gr_leaf", "write"])


def _lose_the_row_of_a_bargain(recorded: Recorded) -> None:
    recorded.snapshot["notes"].remove(["d", "gr_leaf", "write"])


def _take_without_a_receipt(recorded: Recorded) -> None:
    recorded.snapshot["taken"].append({"id": "rc_unknown", "amount": 200})


def _take_another_sum(recorded: Recorded) -> None:
    recorded.row("taken", "rc_b")["amount"] = 100_000


def _not_take(recorded: Recorded) -> None:
    recorded.drop("taken", "rc_b")


def _not_ask_the_provider(recorded: Recorded) -> None:
    recorded.drop("taken", "rc_c")
    recorded.drop("payments", "rc_c")


def _not_give(recorded: Recorded) -> None:
    recorded.drop("given", "rf_r")


def _give_unasked(recorded: Recorded) -> None:
    recorded.snapshot["given"].append({"id": "rf_x", "charge": "rc_b", "amount": 1})


def _forget_a_debit(recorded: Recorded) -> None:
    recorded.row("mandates", "gr_root")["spent"] -= 1_000


def _overspend(recorded: Recorded) -> None:
    recorded.row("mandates", "gr_leaf")["total"] = 1_000


def _forget_a_use(recorded: Recorded) -> None:
    recorded.row("mandates", "gr_leaf")["uses"] -= 1


def _use_twice(recorded: Recorded) -> None:
    recorded.buys("k", "ledger", 100, grants=["gr_once"], may=["grant_used"])


def _refund_too_much(recorded: Recorded) -> None:
    recorded.gives_back("rf_x", "rc_b", 600, reason="staff")


def _not_count_a_refund(recorded: Recorded) -> None:
    recorded.receipt("rc_b")["refunded"] = 0


def _refund_twice_for_one_key(recorded: Recorded) -> None:
    recorded.gives_back("rf_x", "rc_b", 500, reason="r")


def _lose_a_refund(recorded: Recorded) -> None:
    recorded.line("answer", "r")["value"]["refund"]["id"] = "rf_lost"
    recorded.row("records", "r")["body"] = json.dumps(recorded.line("answer", "r")["value"])


def _use_an_agreement_twice(recorded: Recorded) -> None:
    recorded.receipt("rc_a")["agreement"] = "ag_1"


def _not_use_an_agreement_up(recorded: Recorded) -> None:
    recorded.row("agreements", "ag_1")["receipt"] = None


def _forget_an_agreement(recorded: Recorded) -> None:
    recorded.drop("agreements", "ag_2")


def _leave_a_payment(recorded: Recorded) -> None:
    recorded.snapshot["payments"].append({"id": "rc_x", "state": "captured"})


def _leave_a_refund(recorded: Recorded) -> None:
    recorded.snapshot["refunds"].append(
        {**recorded.row("refunds", "rf_r"), "id": "rf_x", "reason": "staff", "state": "processing"}
    )


def _hold_a_key(recorded: Recorded) -> None:
    recorded.snapshot["records"].append({"key": "i:2", "state": "running", "status": None, "body": ""})


def _keep_another_answer(recorded: Recorded) -> None:
    recorded.row("records", "a")["body"] = '{"receipts":[]}'


def _forget_the_answer_of_a_step(recorded: Recorded) -> None:
    recorded.drop("records", "i:1")


def _answer_in_two_ways(recorded: Recorded) -> None:
    recorded.lines.append({**recorded.line("answer", "a"), "value": {"receipts": ["rc_b"]}})


def _never_answer(recorded: Recorded) -> None:
    recorded.intends("z", "buy", "ledger", charges=1, price=100)


def _fail(recorded: Recorded) -> None:
    recorded.lines.append({"is": "unexplained", "id": "a", "status": 500, "code": "x", "text": ""})


BREACHES: list[tuple[Callable[[Recorded], None], set[Rule]]] = [
    (_break_the_chain, {Rule.CHAIN}),
    (_lose_a_receipt, {Rule.LOST, Rule.HALF_DONE, Rule.MANDATE}),
    (_charge_again, {Rule.PAID_TWICE}),
    (_charge_what_was_given_up_twice, {Rule.PAID_TWICE}),
    (_keep_money_of_a_refusal, {Rule.PAID_FOR_NOTHING}),
    (_charge_another_sum, {Rule.PRICE}),
    (_charge_another_grant, {Rule.PRICE}),
    (_run_twice, {Rule.DONE_TWICE}),
    (_lose_the_row_of_a_bargain, {Rule.HALF_DONE}),
    (_take_without_a_receipt, {Rule.TAKEN}),
    (_take_another_sum, {Rule.TAKEN}),
    (_not_take, {Rule.NOT_TAKEN}),
    (_not_ask_the_provider, {Rule.NOT_TAKEN, Rule.GIVEN}),
    (_not_give, {Rule.GIVEN}),
    (_give_unasked, {Rule.GIVEN}),
    (_forget_a_debit, {Rule.MANDATE}),
    (_overspend, {Rule.OVERSPENT}),
    (_forget_a_use, {Rule.USES}),
    (_use_twice, {Rule.USED_TWICE}),
    (_refund_too_much, {Rule.OVER_REFUNDED}),
    (_not_count_a_refund, {Rule.REFUNDED}),
    (_refund_twice_for_one_key, {Rule.REFUND_TWICE}),
    (_lose_a_refund, {Rule.REFUND_LOST}),
    (_use_an_agreement_twice, {Rule.AGREEMENT_TWICE}),
    (_not_use_an_agreement_up, {Rule.AGREEMENT}),
    (_forget_an_agreement, {Rule.AGREEMENT}),
    (_leave_a_payment, {Rule.UNSETTLED}),
    (_leave_a_refund, {Rule.UNSETTLED}),
    (_hold_a_key, {Rule.STUCK}),
    (_keep_another_answer, {Rule.KEPT}),
    (_forget_the_answer_of_a_step, {Rule.KEPT}),
    (_answer_in_two_ways, {Rule.ANSWERS_DIFFER}),
    (_never_answer, {Rule.UNANSWERED}),
    (_fail, {Rule.ANSWER}),
]


@pytest.mark.parametrize(
    ("spoil", "rules"), BREACHES, ids=[spoil.__name__.strip("_") for spoil, _rules in BREACHES]
)
def test_a_breach_is_named_and_nothing_else(spoil: Callable[[Recorded], None], rules: set[Rule]) -> None:
    recorded = Recorded()
    spoil(recorded)
    assert recorded.breaches() == rules


def test_every_rule_is_tried() -> None:
    assert set().union(*(rules for _spoil, rules in BREACHES)) == set(Rule)
