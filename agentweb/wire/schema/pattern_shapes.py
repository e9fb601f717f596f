"""Judge a pattern by its shape: may it take exponential time?

Used for patterns of other sites before they run once. A backtracking engine needs exponential time where one
text can be divided into the rounds of a repeat in many ways: ``(a+)+``, ``(a|a)*``, ``(.*,)+``. Where there is
one way only, as in ``[a-z0-9]+(-[a-z0-9]+)*``, a repeat inside a repeat is harmless, and common.

The test is the one for exponential ambiguity of a Glushkov automaton: number the characters of the repeated
expression and find for each which may follow. If two different ways lead from one place through different
places, over the same characters, to one place again, each further round doubles the ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Final

from agentweb.wire.schema.patterns import is_one_of
from agentweb.wire.schema.regex import BackReference, Chars, Choice, Group, Node, Repeat, Sequence

MAX_COUNT: Final = 1_000
_MAX_PLACES: Final = 300
_MAX_STEPS: Final = 200_000
_FEW_CHARACTERS: Final = 300


def shape_problem(node: Node) -> str | None:
    """A sentence saying why the pattern is refused, or None."""
    for each in _walk(node):
        if isinstance(each, BackReference):
            return "A pattern of another site may not refer back to a group."
        if isinstance(each, Repeat):
            if max(each.least, each.most or 0) > MAX_COUNT:
                return f"A pattern of another site may count to {MAX_COUNT} at most."
            if each.most != 1 and _has_choices(each.body) and _is_exponential(each.body):
                return (
                    "A pattern of another site may not repeat what is itself repeated (nested quantifiers)."
                )
    return None


def _walk(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case Repeat(body=body) | Group(body=body):
            yield from _walk(body)
        case Sequence(items=parts) | Choice(options=parts):
            for part in parts:
                yield from _walk(part)


def _has_choices(body: Node) -> bool:
    """Whether one round may match in more than one way or length."""
    return any(
        isinstance(each, Choice) or (isinstance(each, Repeat) and each.least != each.most)
        for each in _walk(body)
    )


def _is_exponential(body: Node) -> bool:
    """Whether some text can be divided into rounds of ``body`` in exponentially many ways."""
    try:
        places = _Places()
        whole = places.add(body)
        if whole.nullable:
            return True  # rounds that take nothing can be put anywhere
        places.connect(whole.last, whole.first)
        return places.ways_meet_again()
    except _Unclear:
        return True


class _Unclear(Exception):
    """One place follows another in two ways, or there is too much to look at."""


@dataclass(slots=True)
class _Part:
    """A part of the expression: may it be empty, and which places may come first and last."""

    nullable: bool
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)


class _Places:
    """The numbered characters of an expression; ``follow`` says for each which may come next."""

    def __init__(self) -> None:
        self.chars: list[Chars] = []
        self.follow: list[set[int]] = []
        self.steps = 0

    def add(self, node: Node) -> _Part:
        match node:
            case Chars():
                if len(self.chars) >= _MAX_PLACES:
                    raise _Unclear
                self.chars.append(node)
                self.follow.append(set())
                return _Part(False, [len(self.chars) - 1], [len(self.chars) - 1])
            case Group() if node.kind in {"capture", "plain"}:
                return self.add(node.body)
            case Sequence():
                return self.chain(self.add(item) for item in node.items)
            case Choice():
                parts = [self.add(option) for option in node.options]
                if sum(part.nullable for part in parts) > 1:
                    raise _Unclear  # two ways to take nothing
                return _Part(
                    any(part.nullable for part in parts),
                    [place for part in parts for place in part.first],
                    [place for part in parts for place in part.last],
                )
            case Repeat():
                return self.repeat(node)
            case _:
                return _Part(True)  # a place in the text, or a look around: takes no character

    def chain(self, parts: Iterable[_Part]) -> _Part:
        whole = _Part(True)
        for part in parts:
            self.connect(whole.last, part.first)
            if whole.nullable:
                whole.first = whole.first + part.first
            whole.last = whole.last + part.last if part.nullable else part.last
            whole.nullable = whole.nullable and part.nullable
        return whole

    def repeat(self, node: Repeat) -> _Part:
        """``x{2,}`` as ``xx+``; ``x{2,4}`` as ``xx(x(x)?)?``, where each round follows the one before it."""
        if node.most is None:
            must = [self.add(node.body) for _ in range(max(node.least, 1))]
            self.connect(must[-1].last, must[-1].first)
            whole = self.chain(must)
            whole.nullable = whole.nullable or node.least == 0
            return whole
        rounds = [self.add(node.body) for _ in range(node.most)]
        whole = self.chain(rounds[: node.least])
        before = rounds[node.least - 1].last if node.least else []
        for number, part in enumerate(rounds[node.least :]):
            if part.nullable:
                raise _Unclear
            self.connect(before, part.first)
            if number == 0 and whole.nullable:
                whole.first = whole.first + part.first
            whole.last = whole.last + part.last
            before = part.last
        return whole

    def connect(self, before: list[int], after: list[int]) -> None:
        self.count(len(before) * len(after))
        for place in before:
            following = self.follow[place]
            for each in after:
                if each in following:
                    raise _Unclear  # (a+)+: from a to a by the inner repeat or by the outer
                following.add(each)

    def count(self, steps: int) -> None:
        self.steps += steps
        if self.steps > _MAX_STEPS:
            raise _Unclear

    def ways_meet_again(self) -> bool:
        """Whether two different ways part at one place and come together again over the same characters.

        All places lie on one circle (the repeat), so meeting at any place is meeting at the same one later.
        """
        waiting: list[tuple[int, int]] = []
        seen: set[tuple[int, int]] = set()

        def visit(one: int, other: int) -> None:
            pair = (min(one, other), max(one, other))
            if pair not in seen and _overlap(self.chars[one], self.chars[other]):
                seen.add(pair)
                waiting.append(pair)

        for following in self.follow:
            self.count(len(following) ** 2)
            for one, other in combinations(following, 2):
                visit(one, other)
        while waiting:
            one, other = waiting.pop()
            if self.follow[one] & self.follow[other]:
                return True
            self.count(len(self.follow[one]) * len(self.follow[other]))
            for after_one, after_other in product(self.follow[one], self.follow[other]):
                visit(after_one, after_other)
        return False


def _overlap(one: Chars, other: Chars) -> bool:
    """Whether some character is of both; when that is costly to tell, yes."""
    if not one.properties and not other.properties:
        return any(
            first <= end and start <= last for first, last in one.ranges for start, end in other.ranges
        )
    if one.properties and other.properties:
        return True
    named, listed = (one, other) if one.properties else (other, one)
    if sum(last - first + 1 for first, last in listed.ranges) > _FEW_CHARACTERS:
        return True
    return any(
        is_one_of(named, chr(code)) for first, last in listed.ranges for code in range(first, last + 1)
    )
