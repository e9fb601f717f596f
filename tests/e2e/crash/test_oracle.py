"""The oracle says nothing of a run in which all held, and names the rule that did not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.crash.evidence import load
from tests.e2e.crash.journal import Line
from tests.e2e.crash.oracle import Evidence, Rule, judge


class Recorded:
    """What was recorded of two agents that wrote to each other: each message has an event in both streams."""

    def __init__(self) -> None:
        self.writers: dict[str, list[Line]] = {"writer-0": [], "writer-1": []}
        self.readers: dict[str, list[Line]] = {
            name: [{"is": "start", "agent": agent, "cursor": "c4"}]
            for name, agent in (("reader-0", "ada"), ("reader-1", "bob"), ("reader-2", "ada"))
        }
        self.told: list[Line] = []
        self.inboxes: dict[str, list[list[str]]] = {"ada": [], "bob": []}
        self.quota: int | None = None
        self.snapshot: dict[str, Any] = {
            "last": 4,
            "floor": 4,
            "charged": {"ada": 0, "bob": 0},
            "received": {"ada": 0, "bob": 0},
            "messages": [],
            "events": [],
            "positions": {"c4": 4},
        }
        for number in range(6):
            sender, to = ("ada", "bob") if number % 2 else ("bob", "ada")
            self.say(f"writer-{number % 2}", sender, to, f"m{number}")
        self.writers["writer-0"].append({"is": "lost", "id": "m0"})
        self.answer("writer-0", "m0", duplicate=True, charged=0)
        self.writers["writer-0"] += [
            {"is": "use", "nonce": "n", "accepted": True},
            {"is": "use", "nonce": "n", "accepted": False, "replay": True},
        ]
        for name in self.readers:
            self.follow(name)

    def say(self, writer: str, sender: str, to: str, ident: str) -> None:
        snapshot, key = self.snapshot, len(self.snapshot["messages"]) + 1
        for agent in (sender, to):
            snapshot["last"] += 1
            event = {"seq": snapshot["last"], "agent": agent, "type": "message", "message": key}
            snapshot["events"].append(event)
            snapshot["positions"][f"c{snapshot['last']}"] = snapshot["last"]
        digest = f"sha {ident}"
        row = {"sender": sender, "recipient": to, "ident": ident, "digest": digest, "key": key}
        snapshot["messages"].append({**row, "seq": snapshot["last"]})
        snapshot["charged"][sender] += 1
        snapshot["received"][to] += 1
        self.told.append({"from": sender, "id": ident})
        self.inboxes[to].insert(0, [sender, ident])
        self.writers[writer].append(
            {"is": "intent", "id": ident, "from": sender, "to": to, "digest": digest, "envelope": "{}"}
        )
        self.answer(writer, ident)

    def answer(self, writer: str, ident: str, **members: Any) -> None:
        [row] = [row for row in self.snapshot["messages"] if row["ident"] == ident] or [{"seq": 4}]
        given = {"accepted": True, "duplicate": False, "charged": 1, "code": "", "final": False}
        line = {"is": "answer", "id": ident, "cursor": f"c{row['seq']}", **given, **members}
        self.writers[writer].append(line)

    def follow(self, name: str) -> None:
        """In pages of two; killed once before it committed the second, and so given it again."""
        lines = self.readers[name]
        stream = [event for event in self.snapshot["events"] if event["agent"] == lines[0]["agent"]]
        after = "c4"
        for number in range(0, len(stream), 2):
            two = stream[number : number + 2]
            page = {
                "is": "page",
                "after": after,
                "cursor": f"c{two[-1]['seq']}" if number + 2 < len(stream) else f"c{self.snapshot['last']}",
                "more": True,
                "events": [self.event(row) for row in two],
            }
            lines.append(page)
            if number == 2:
                lines += [{"is": "start", "agent": lines[0]["agent"], "cursor": after}, copy.deepcopy(page)]
            after = page["cursor"]
            lines.append({"is": "commit", "cursor": after})

    def event(self, row: dict[str, Any]) -> Line:
        message = self.snapshot["messages"][row["message"] - 1]
        told = [message["sender"], message["ident"], message["digest"]]
        return {"cursor": f"c{row['seq']}", "type": row["type"], "message": told}

    def evidence(self) -> Evidence:
        return load(
            self.snapshot,
            writers=self.writers,
            readers=self.readers,
            told=self.told,
            inboxes=self.inboxes,
            quota=self.quota,
        )

    def breaches(self) -> set[Rule]:
        return {breach.rule for breach in judge(self.evidence())}

    def page(self, reader: str, number: int) -> Line:
        return [line for line in self.readers[reader] if line["is"] == "page"][number]


def test_nothing_is_said_where_all_held() -> None:
    assert judge(Recorded().evidence()) == []


def _forget_a_row(recorded: Recorded) -> None:
    recorded.snapshot["messages"].pop()


def _store_twice(recorded: Recorded) -> None:
    recorded.snapshot["messages"].append({**recorded.snapshot["messages"][0], "key": 77})


def _alter(recorded: Recorded) -> None:
    recorded.snapshot["messages"][0]["digest"] = "another"


def _turn_to_another(recorded: Recorded) -> None:
    recorded.snapshot["messages"][0]["recipient"] = "bob"


def _invent(recorded: Recorded) -> None:
    recorded.writers["writer-0"] = [line for line in recorded.writers["writer-0"] if line.get("id") != "m2"]


def _never_answer(recorded: Recorded) -> None:
    recorded.writers["writer-0"].append({**recorded.writers["writer-0"][0], "id": "m9"})


def _answer_first_twice(recorded: Recorded) -> None:
    recorded.answer("writer-0", "m0", charged=0)


def _charge_the_duplicate(recorded: Recorded) -> None:
    recorded.answer("writer-0", "m0", duplicate=True)


def _lose_a_charge(recorded: Recorded) -> None:
    recorded.snapshot["charged"]["ada"] -= 1


def _lose_a_count(recorded: Recorded) -> None:
    recorded.snapshot["received"]["bob"] -= 1


def _overrun(recorded: Recorded) -> None:
    recorded.quota = 2


def _keep_what_was_refused(recorded: Recorded) -> None:
    lines = recorded.writers["writer-1"]
    [place] = [at for at, line in enumerate(lines) if line["is"] == "answer" and line["id"] == "m1"]
    lines[place] |= {"accepted": False, "code": "quota_exceeded", "final": True}


def _not_signal(recorded: Recorded) -> None:
    recorded.told.pop(2)


def _leave_out_of_the_inbox(recorded: Recorded) -> None:
    recorded.inboxes["ada"].pop(1)


def _turn_the_inbox(recorded: Recorded) -> None:
    recorded.inboxes["ada"].reverse()


def _leave_a_gap(recorded: Recorded) -> None:
    recorded.snapshot["events"].pop(3)


def _leave_the_head_behind(recorded: Recorded) -> None:
    recorded.snapshot["last"] -= 1


def _tell_one_party(recorded: Recorded) -> None:
    recorded.snapshot["events"][2]["agent"] = "bob"


def _misplace_the_receipt(recorded: Recorded) -> None:
    recorded.answer("writer-0", "m0", duplicate=True, charged=0, cursor="c5")


def _name_no_position(recorded: Recorded) -> None:
    recorded.answer("writer-0", "m0", duplicate=True, charged=0, cursor="c99")


def _miss(recorded: Recorded) -> None:
    recorded.page("reader-0", 3)["events"].pop()


def _give_twice(recorded: Recorded) -> None:
    page = recorded.page("reader-0", 3)
    page["events"].insert(0, recorded.page("reader-0", 0)["events"][-1])


def _give_twice_in_a_page(recorded: Recorded) -> None:
    page = recorded.page("reader-0", 3)
    page["events"].append(page["events"][-1])


def _turn_a_page(recorded: Recorded) -> None:
    recorded.page("reader-0", 0)["events"].reverse()


def _alter_an_event(recorded: Recorded) -> None:
    recorded.page("reader-0", 0)["events"][0]["message"][2] = "another"


def _show_anothers(recorded: Recorded) -> None:
    """An event of bob's stream beside one of ada's."""
    page = recorded.page("reader-0", 0)
    seen = {event["cursor"] for event in page["events"]}
    other = next(
        row
        for row in recorded.snapshot["events"]
        if row["agent"] == "bob" and f"c{row['seq']}" not in seen and row["seq"] < int(page["cursor"][1:])
    )
    page["events"].append(recorded.event(other))
    page["events"].sort(key=lambda event: int(event["cursor"][1:]))


def _go_back(recorded: Recorded) -> None:
    lines = recorded.readers["reader-0"]
    lines.append({"is": "page", "after": lines[-1]["cursor"], "cursor": "c5", "more": False, "events": []})


def _resume_elsewhere(recorded: Recorded) -> None:
    recorded.readers["reader-0"].append({"is": "start", "agent": "ada", "cursor": "c5"})


def _stop_early(recorded: Recorded) -> None:
    del recorded.readers["reader-0"][-2:]


def _accept_a_nonce_again(recorded: Recorded) -> None:
    recorded.writers["writer-0"].append({"is": "use", "nonce": "n", "accepted": True, "replay": True})


def _fail(recorded: Recorded) -> None:
    recorded.writers["writer-0"].append({"is": "unexplained", "status": 500, "code": "internal"})


def _fail_a_reader(recorded: Recorded) -> None:
    recorded.readers["reader-0"].append({"is": "unexplained", "status": 410, "code": "cursor_expired"})


BREACHES: list[tuple[Callable[[Recorded], None], set[Rule]]] = [
    (_store_twice, {Rule.DOUBLED, Rule.CHARGED, Rule.RECEIVED, Rule.UNTOLD, Rule.INBOX}),
    (_invent, {Rule.STRANGE}),
    (_never_answer, {Rule.UNACKNOWLEDGED}),
    (_answer_first_twice, {Rule.FIRST_TWICE}),
    (_charge_the_duplicate, {Rule.CHARGED_TWICE}),
    (_lose_a_charge, {Rule.CHARGED}),
    (_lose_a_count, {Rule.RECEIVED}),
    (_overrun, {Rule.OVERRUN}),
    (_keep_what_was_refused, {Rule.REFUSED_AND_KEPT}),
    (_not_signal, {Rule.UNSIGNALLED}),
    (_leave_out_of_the_inbox, {Rule.INBOX}),
    (_turn_the_inbox, {Rule.INBOX}),
    (_misplace_the_receipt, {Rule.RECEIPT}),
    (_name_no_position, {Rule.UNKNOWN_CURSOR}),
    (_miss, {Rule.MISSED}),
    (_give_twice, {Rule.TWICE, Rule.DISORDER}),
    (_give_twice_in_a_page, {Rule.TWICE}),
    (_turn_a_page, {Rule.DISORDER, Rule.ORDERS_DIFFER}),
    (_show_anothers, {Rule.DISORDER}),
    (_alter_an_event, {Rule.ALTERED}),
    (_go_back, {Rule.BACKWARDS}),
    (_resume_elsewhere, {Rule.BACKWARDS}),
    (_stop_early, {Rule.UNRESUMED}),
    (_accept_a_nonce_again, {Rule.NONCE}),
    (_fail, {Rule.ANSWER}),
    (_fail_a_reader, {Rule.ANSWER}),
]
ALSO: list[tuple[Callable[[Recorded], None], Rule]] = [
    (_forget_a_row, Rule.LOST),
    (_alter, Rule.ALTERED),
    (_turn_to_another, Rule.ALTERED),
    (_leave_a_gap, Rule.GAP),
    (_leave_the_head_behind, Rule.GAP),
    (_tell_one_party, Rule.UNTOLD),
]
"""These upset so much that other rules speak as well."""


@pytest.mark.parametrize(
    ("spoil", "rules"), BREACHES, ids=[spoil.__name__.strip("_") for spoil, _rules in BREACHES]
)
def test_a_breach_is_named_and_nothing_else(spoil: Callable[[Recorded], None], rules: set[Rule]) -> None:
    recorded = Recorded()
    spoil(recorded)
    assert recorded.breaches() == rules


@pytest.mark.parametrize(("spoil", "rule"), ALSO, ids=[spoil.__name__.strip("_") for spoil, _rule in ALSO])
def test_a_breach_is_named(spoil: Callable[[Recorded], None], rule: Rule) -> None:
    recorded = Recorded()
    spoil(recorded)
    assert rule in recorded.breaches()


def test_every_rule_is_tried() -> None:
    tried = set().union(*(rules for _spoil, rules in BREACHES), {rule for _spoil, rule in ALSO})
    assert tried == set(Rule)
