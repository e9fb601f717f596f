"""``python -m tests.e2e.crash.proof``: plants each bug in turn, and fails unless each is caught by its rule.

On PostgreSQL: SQLite has one writer at a time, so most of these races cannot be lost there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tests.e2e.crash import planted, scenarios
from tests.e2e.crash.__main__ import bar, end_politely
from tests.e2e.crash.plan import Plan
from tests.e2e.crash.running import Outcome


@dataclass(frozen=True)
class Proof:
    """``attempts`` runs were needed; ``count`` breaches of the bug's rule were found in the last."""

    bug: str
    caught: bool
    rule: str
    count: int
    attempts: int
    seconds: float
    kills: int
    acknowledged: int


def main(arguments: Sequence[str] | None = None) -> int:
    end_politely()
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.crash.proof", description=__doc__)
    parser.add_argument("bugs", nargs="*", choices=[*planted.everything(), []], help="all, unless named")
    parser.add_argument("--seconds", type=float, default=20, help="of killing in each run")
    parser.add_argument("--attempts", type=int, default=3, help="runs at most for each bug")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    proofs = [
        prove(bug, seconds=given.seconds, attempts=given.attempts, seed=given.seed)
        for bug in given.bugs or planted.everything()
    ]
    print(json.dumps([asdict(proof) for proof in proofs], indent=1) if given.json else words(proofs))
    return 0 if all(proof.caught for proof in proofs) else 1


def prove(bug: str, *, seconds: float, attempts: int, seed: str) -> Proof:
    """Run with the bug until it is caught, each time with another seed."""
    spent, attempt = 0.0, 0
    while True:
        attempt += 1
        plan = Plan(
            scenario=planted.find(bug).scenario,
            bug=bug,
            seconds=seconds,
            seed=f"{seed}.{attempt}",
            pace=1.5,
            finishing=20,
            old_events=0,
        )
        outcome = scenarios.run(plan, bar(sys.stderr))
        spent += outcome.seconds
        count = _count(outcome, bug)
        found = ", ".join(f"{breach.count} {breach.rule.name.lower()}" for breach in outcome.breaches)
        print(f"{bug}, seed {plan.seed}: {found or 'nothing'}", file=sys.stderr)
        if count or attempt == attempts:
            kills = sum(outcome.kills.values())
            rule = planted.find(bug).rule.value
            return Proof(bug, count > 0, rule, count, attempt, round(spent, 1), kills, outcome.acknowledged)


def _count(outcome: Outcome, bug: str) -> int:
    return sum(breach.count for breach in outcome.breaches if breach.rule is planted.find(bug).rule)


def words(proofs: Sequence[Proof]) -> str:
    return "\n".join(
        f"{'caught' if proof.caught else 'MISSED'}  {proof.bug}: {proof.count} x {proof.rule} "
        f"({proof.attempts} runs, {proof.seconds:.0f} s, {proof.kills} kills, {proof.acknowledged} acknowledged)"
        for proof in proofs
    )


if __name__ == "__main__":
    sys.exit(main())
