"""``python -m tests.e2e.crash``: kill a site again and again, and see whether it kept its promises."""

from __future__ import annotations

import argparse
import json
import secrets
import signal
import sys
from collections.abc import Sequence
from typing import Final, TextIO

from tests.e2e.crash import scenarios
from tests.e2e.crash.plan import DATABASES, POSTGRES, SCENARIOS, SERVERS, Plan
from tests.e2e.crash.running import Outcome, Told

_WIDTH: Final = 24


def main(arguments: Sequence[str] | None = None) -> int:
    end_politely()
    given = _parser().parse_args(arguments)
    plan = Plan(
        scenario=given.scenario,
        database=given.database,
        seconds=given.seconds,
        seed=given.seed or secrets.token_hex(4),
        server=given.server,
        writers=given.writers,
        readers=given.readers,
        with_redis=not given.without_redis,
        quota=given.quota,
        pace=given.pace,
        kills=given.kills,
        acknowledgements=given.acknowledgements,
        at_most=given.at_most,
    )
    outcome = scenarios.run(plan, bar(sys.stderr), keep=given.keep)
    print(json.dumps(outcome.as_json(), indent=1) if given.json else words(outcome))
    return 0 if outcome.passed and outcome.is_enough else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.crash", description=__doc__)
    parser.add_argument("--scenario", choices=SCENARIOS, default=SCENARIOS[0])
    parser.add_argument("--database", choices=DATABASES, default=POSTGRES)
    parser.add_argument("--server", choices=SERVERS, default=SERVERS[0])
    parser.add_argument("--seconds", type=float, default=30, help="how long processes are killed")
    parser.add_argument("--seed", default="", help="repeats the same choices of the driver")
    parser.add_argument("--writers", type=int, default=6, help="processes, or buyers; three share an agent")
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--quota", type=int, help="messages that each agent may send: a tight budget")
    parser.add_argument("--pace", type=float, default=1.0, help="2 kills twice as often")
    parser.add_argument("--kills", type=int, default=0, help="go on until there were so many")
    parser.add_argument("--acknowledgements", type=int, default=0, help="go on until there were so many")
    parser.add_argument("--at-most", type=float, default=3_600, help="seconds, whatever was reached")
    parser.add_argument("--without-redis", action="store_true")
    parser.add_argument(
        "--keep", action="store_true", help="leave journals, logs and database where they are"
    )
    parser.add_argument("--json", action="store_true")
    return parser


def end_politely() -> None:
    """Let SIGTERM and SIGINT end what was started, too."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(130))


def bar(to: TextIO) -> Told:
    """A progress bar on a terminal; elsewhere one line for each phase."""
    phases: list[str] = []

    def told(phase: str, share: float, outcome: Outcome) -> None:
        if to.isatty():
            filled = round(_WIDTH * share)
            to.write(
                f"\r\x1b[K[{'#' * filled}{'.' * (_WIDTH - filled)}] {phase}: "
                f"{sum(outcome.kills.values())} kills, {outcome.acknowledged} acknowledged"
            )
            if phase == "judge":
                to.write("\r\x1b[K")
        elif phase not in phases:
            phases.append(phase)
            to.write(f"{phase} …\n")
        to.flush()

    return told


def words(outcome: Outcome) -> str:
    """The outcome for people."""
    kills = ", ".join(f"{count} {name}" for name, count in sorted(outcome.kills.items()))
    ends = ", ".join(f"{count} {name}" for name, count in sorted(outcome.ends.items()))
    verdict = "PASS" if outcome.passed and outcome.is_enough else "FAIL"
    lines = [
        f"{verdict}: {outcome.plan.scenario}, {outcome.plan.database}, {outcome.plan.server}, "
        f"seed {outcome.plan.seed}, {outcome.seconds:.0f} s",
        f"  killed {sum(outcome.kills.values())} times: {kills or 'nothing'}",
        *([f"  ended by themselves: {ends}"] if ends else []),
        *(f"  {line}" for line in outcome.told()),
    ]
    if not outcome.is_enough:
        lines.append(
            f"  fewer than {outcome.plan.kills} kills or {outcome.plan.acknowledgements} acknowledgements"
        )
    for breach in outcome.breaches:
        lines.append(f"  {breach.count} x {breach.rule.value}")
        lines += [f"      {example}" for example in breach.examples]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
