"""Short texts that fit a pattern, for examples. A proposal only: whoever uses one checks it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentweb.wire.schema.patterns import is_one_of
from agentweb.wire.schema.regex import Chars, Choice, Group, Node, Repeat, Sequence

_PREFERRED: Final = "a1A0-_ bé."
_MAX_ROUNDS: Final = 200


def sample(node: Node, least: int = 0) -> Iterator[str]:
    """Candidates from short to long: open repeats take their least number of rounds, then more."""
    seen: set[str] = set()
    for extra in (0, 1, 2, least):
        text = _text(node, extra)
        if text not in seen:
            seen.add(text)
            yield text


def _text(node: Node, extra: int) -> str:
    match node:
        case Chars():
            return _character(node)
        case Repeat():
            rounds = node.least + extra
            if node.most is not None:
                rounds = min(rounds, node.most)
            return _text(node.body, extra) * min(rounds, max(node.least, _MAX_ROUNDS))
        case Group():
            return "" if node.kind.startswith("(?") else _text(node.body, extra)
        case Sequence():
            return "".join([_text(each, extra) for each in node.items])
        case Choice():
            return _text(node.options[0], extra)
        case _:
            return ""


def _character(chars: Chars) -> str:
    listed = [chr(first) for first, _ in chars.ranges]
    return next((each for each in [*_PREFERRED, *listed] if is_one_of(chars, each)), "")
