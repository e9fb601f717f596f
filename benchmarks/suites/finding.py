"""How well actions are found, beside plain BM25 over descriptions: ``python -m benchmarks --suite finding``.

On the labelled set of ``tests/index/labelled.py``. No clock is looked at, so the figures are the same on every machine.
"""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.figures import table
from tests.index.labelled import queries, sites
from tests.index.measuring import measured, ours, plain


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure and print; the figures as dicts."""
    known, asked = sites(), queries()
    rankers = {
        "agentweb": ours(known),
        "BM25 over descriptions": plain(known, stemmed=False),
        "the same, stemmed": plain(known, stemmed=True),
    }
    parts = {
        "all": asked,
        "looked at": [query for query in asked if not query.is_held_out],
        "held out": [query for query in asked if query.is_held_out],
    }
    found: list[dict[str, Any]] = []
    for name, rank in rankers.items():
        figures = {part: measured(rank, some) for part, some in parts.items()}
        found.append(
            {"ranker": name}
            | {f"recall@5, {part}": round(each.recall, 3) for part, each in figures.items()}
            | {f"MRR, {part}": round(each.mrr, 3) for part, each in figures.items()}
        )
    print(
        f"{len(asked)} queries over {len(known)} sites with {sum(len(site.actions) for site in known)} actions"
    )
    print(table(list(found[0]), [[str(value) for value in each.values()] for each in found]))
    return found
