"""Which failures to report when no branch of ``anyOf`` or ``oneOf`` fits: those of the branch that fits best.

Listing every branch's failures tells a reader to be a string and an object at once; jsonschema's
``best_match`` blames the member that chose the branch. Here the branch of the right type is taken, then the
one whose constants agree, then the one with the fewest failures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jsonschema import ValidationError

from agentweb.wire.schema.equality import key_of
from agentweb.wire.schema.failures import Failure, Path

Located = tuple[Path, ValidationError, int | None]
"""Where, what, and the position of the branch it was measured against."""


def leaves_of(above: Path, failure: ValidationError) -> Iterator[Located]:
    """The failures to report for one failure at ``above``: itself, or those of its best branch."""
    path = above + tuple(failure.relative_path)
    if not isinstance(failure, Failure):
        yield path, failure, None
        return
    if failure.member is not None:
        path += (failure.member,)
    if failure.branches is None or failure.validator == "propertyNames":
        yield path, failure, None
        return
    branches = [[leaf for each in broken for leaf in leaves_of(path, each)] for broken in failure.branches]
    merged = _shared_choice(path, branches)
    if merged is not None:
        yield merged[0], merged[1], None
        return
    best = min(range(len(branches)), key=lambda position: _misfit(path, branches[position]))
    for leaf_path, leaf, alternative in branches[best]:
        yield leaf_path, leaf, best if alternative is None else alternative


def _misfit(path: Path, leaves: list[Located]) -> tuple[int, int, int]:
    """Less is better: type, then the constants that tell branches apart, then the number of failures."""
    wrong_type = any(where == path and keyword_of(leaf) == "type" for where, leaf, _ in leaves)
    wrong_constant = sum(1 for _, leaf, _ in leaves if keyword_of(leaf) in {"const", "enum"})
    return wrong_type, wrong_constant, len(leaves)


def _shared_choice(path: Path, branches: list[list[Located]]) -> tuple[Path, Failure] | None:
    """When every branch fails on the very same choice, one failure that offers all the choices.

    Either each is of another type, or each has another constant at the same place: then no branch fits
    better than the others, and blaming one would hide the rest.
    """
    for keywords in ({"type"}, {"const", "enum"}):
        places: set[Path] | None = None
        for leaves in branches:
            here = {where for where, leaf, _ in leaves if keyword_of(leaf) in keywords}
            if keywords == {"type"}:
                here &= {path}
            places = here if places is None else places & here
        if not places:
            continue
        place = min(places, key=lambda each: (len(each), str(each)))
        choices: list[Any] = []
        for leaves in branches:
            for where, leaf, _ in leaves:
                if where == place and keyword_of(leaf) in keywords:
                    value = leaf.validator_value
                    choices.extend(
                        value if isinstance(value, list) and keyword_of(leaf) != "const" else [value]
                    )
        distinct = list({key_of(choice): choice for choice in choices}.values())
        keyword = "type" if "type" in keywords else "enum"
        shared = Failure()
        shared.validator, shared.validator_value, shared.schema = keyword, distinct, {}
        return place, shared
    return None


def keyword_of(failure: ValidationError) -> str:
    """The schema's keyword that failed; a whole schema that is ``false`` has none."""
    keyword = failure.validator
    return keyword if isinstance(keyword, str) else "not_allowed"
