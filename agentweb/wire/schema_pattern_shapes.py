"""Judge a pattern by its shape: may it take exponential time?

Used for patterns of other sites before they run once. Refused is a repeat inside a repeat (``(a+)+``), or
alternatives that overlap inside a repeat (``(a|a)*``), unless every round has to pass a separator, a
character that nothing else in the round can be (``-`` in ``([a-z0-9]+-)*``): then there is one way only to
divide the text into rounds.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

from agentweb.wire.schema_regex import BackReference, Chars, Choice, Group, Node, Range, Repeat, Sequence

MAX_COUNT: Final = 1_000
_FEW_ROUNDS: Final = 4


def shape_problem(node: Node) -> str | None:
    """A sentence saying why the pattern is refused, or None."""
    for each in _walk(node):
        if isinstance(each, Repeat):
            if max(each.least, each.most or 0) > MAX_COUNT:
                return f"A pattern of another site may count to {MAX_COUNT} at most."
            rounds = each.most is None or each.most > _FEW_ROUNDS
            if rounds and _is_ambiguous(each.body) and not _has_separator(each.body):
                return (
                    "A pattern of another site may not repeat what is itself repeated (nested quantifiers)."
                )
        if isinstance(each, BackReference):
            return "A pattern of another site may not refer back to a group."
    return None


def _walk(node: Node) -> list[Node]:
    found: list[Node] = [node]
    for child in _parts(node):
        found.extend(_walk(child))
    return found


def _parts(node: Node) -> tuple[Node, ...]:
    match node:
        case Repeat(body=body) | Group(body=body):
            return (body,)
        case Sequence(items=parts) | Choice(options=parts):
            return parts
        case _:
            return ()


def _is_ambiguous(body: Node) -> bool:
    """Whether one round may match in several lengths or ways."""
    for each in _walk(body):
        if isinstance(each, Repeat) and each.least != each.most:
            return True
        if isinstance(each, Choice) and any(
            _overlap(_characters(one), _characters(other)) for one, other in combinations(each.options, 2)
        ):
            return True
    return False


def _has_separator(body: Node) -> bool:
    """Whether each round holds a single mandatory character that the rest of the round cannot be."""
    while isinstance(body, Group) and body.kind in {"capture", "plain"}:
        body = body.body
    if not isinstance(body, Sequence):
        return False
    for position, item in enumerate(body.items):
        if isinstance(item, Chars) and not item.properties:
            rest = [other for place, other in enumerate(body.items) if place != position]
            if not any(_overlap(_characters(item), _characters(other)) for other in rest):
                # What is left must be plain by itself, or a round could still be split in many ways.
                return not any(_is_nested(other) for other in rest)
    return False


def _is_nested(node: Node) -> bool:
    return any(isinstance(each, Repeat) and _is_ambiguous(each.body) for each in _walk(node))


def _characters(node: Node) -> tuple[Range, ...] | None:
    """The characters that may occur in a match; None stands for any."""
    ranges: list[Range] = []
    for each in _walk(node):
        if isinstance(each, BackReference) or (isinstance(each, Chars) and each.properties):
            return None
        if isinstance(each, Chars):
            ranges.extend(each.ranges)
    return tuple(ranges)


def _overlap(one: tuple[Range, ...] | None, other: tuple[Range, ...] | None) -> bool:
    if one is None or other is None:
        return True
    return any(first <= end and start <= last for first, last in one for start, end in other)
