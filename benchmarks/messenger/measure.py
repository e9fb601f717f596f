"""What is measured in one process, on the database that the settings name; prints JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
from functools import partial
from typing import Any, Final

import django

CROWD: Final = 20_000
PAGE_ROUND: Final = 10


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--each", type=int, default=100, help="Messages of each contestant in a round.")
    parser.add_argument("--events", type=int, default=1_000_000)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.site.settings")
    django.setup()
    json.dump(_measured(options), sys.stdout)


def _measured(options: argparse.Namespace) -> dict[str, Any]:
    from agentweb.aim import log  # noqa: PLC0415 - after setup
    from agentweb.wire.canonical import canonicalize  # noqa: PLC0415
    from benchmarks.messenger import letters, population, posting, reading  # noqa: PLC0415

    def small(*names: str) -> dict[str, Any]:
        made = posting.contestants(partial(letters.singles, size=letters.SMALL))
        chosen = {name: made[name] for name in names} if names else made
        return posting.alternated(chosen, rounds=options.rounds, each=options.each)

    found: dict[str, Any] = {}
    _tell("posting, 400 bytes")
    found["small"] = small()
    _tell("posting, 8 KiB")
    found["large"] = posting.alternated(
        posting.contestants(partial(letters.singles, size=letters.LARGE)),
        rounds=options.rounds,
        each=max(1, options.each // 4),
    )
    [one] = (posting.viewed(each, 202) for each in letters.singles(1, letters.SMALL))
    found["statements"] = posting.statements(one)

    _tell("a crowd, and a long log")
    grown = (posting.BARE, posting.REQUEST)
    few = small(*grown)
    population.crowd(CROWD * options.events // 1_000_000)
    text = canonicalize(letters.letter(letters.Writer(0), letters.Writer(1), letters.SMALL)).decode()
    population.history(options.events // 2, text)
    found["growth"] = {"few": few, "many": small(*grown)}

    _tell("reading")
    found["position"] = log.ends().last
    found["reads"] = posting.alternated(reading.contestants(), rounds=options.rounds, each=PAGE_ROUND)
    found["read_statements"] = {
        name: len(reading.statements(name)) for name in (reading.CAUGHT_UP, reading.FIRST_PAGE, reading.INBOX)
    }
    _tell("catching up")
    share = options.events // (2 * population.FAVOURITE)
    found["catch_up"] = [reading.catch_up(many) for many in (min(10_000, share // 10), share)]
    return found


def _tell(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
