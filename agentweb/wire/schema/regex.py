"""ECMA-262 regular expressions, parsed into a small tree.

JSON Schema patterns are ECMA-262 (core 6.4). Python's dialect differs where it hurts: ``$`` also matches
before a final newline, ``\\d`` takes every script's digits, ``{e<=1}`` is a fuzzy match to the ``regex``
package. Parsing first makes each construct mean what the schema's author wrote, whatever engine runs it,
and lets the shape be judged before a foreign pattern is ever run.

``parse(text)`` gives a Node or raises PatternError. Unicode mode (flag ``u``) with these leniencies of
Annex B: a brace or bracket that starts nothing stands for itself, as does an escaped punctuation mark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

Range = tuple[int, int]
"""Code points from the first to the last, both included."""

_LAST: Final = 0x10FFFF


class PatternError(ValueError):
    """The pattern is no ECMA-262 regular expression; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of ``ranges``, or having one of the Unicode ``properties`` (``p{L}``, ``P{L}``)."""

    ranges: tuple[Range, ...]
    properties: tuple[str, ...] = ()
    negated: bool = False  # only with properties; ranges alone are complemented at once


@dataclass(frozen=True, slots=True)
class Assertion:
    """A place: ``start``, ``end``, ``boundary`` or ``not-boundary``."""

    kind: str


@dataclass(frozen=True, slots=True)
class Group:
    """``kind`` is ``capture``, ``plain``, or a look: ``(?=``, ``(?!``, ``(?<=``, ``(?<!``."""

    kind: str
    body: Node


@dataclass(frozen=True, slots=True)
class BackReference:
    """What capture group ``number`` (from 1) matched."""

    number: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """``body`` at least ``least`` and at most ``most`` times (None: no limit)."""

    body: Node
    least: int
    most: int | None
    lazy: bool


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other; empty matches the empty text."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first of ``options`` that fits."""

    options: tuple[Node, ...]


Node = Chars | Assertion | Group | BackReference | Repeat | Sequence | Choice

DIGITS: Final[tuple[Range, ...]] = ((48, 57),)
WORD: Final[tuple[Range, ...]] = ((48, 57), (65, 90), (95, 95), (97, 122))
# ECMA-262 12.2 and 12.3: white space and line ends.
SPACE: Final[tuple[Range, ...]] = (
    (9, 13),
    (32, 32),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)
LINE_ENDS: Final[tuple[Range, ...]] = ((10, 10), (13, 13), (0x2028, 0x2029))

_CONTROL: Final = {"f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_QUANTIFIER: Final = re.compile(r"\{([0-9]{1,9})(?:(,)([0-9]{0,9}))?\}")
_PROPERTY: Final = re.compile(r"\{([A-Za-z0-9_]{1,60}(?:=[A-Za-z0-9_]{1,60})?)\}")
_GROUP_NAME: Final = re.compile(r"<([A-Za-z_$][A-Za-z0-9_$]*)>")
_HEX4: Final = re.compile(r"[0-9A-Fa-f]{4}")
_HEX2: Final = re.compile(r"[0-9A-Fa-f]{2}")
_BRACED_HEX: Final = re.compile(r"\{([0-9A-Fa-f]{1,8})\}")
_MAX_NESTING: Final = 50


def complement(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    """Every code point that ``ranges`` leaves out."""
    result: list[Range] = []
    position = 0
    for first, last in sorted(ranges):
        if first > position:
            result.append((position, first - 1))
        position = max(position, last + 1)
    if position <= _LAST:
        result.append((position, _LAST))
    return tuple(result)


def parse(text: str) -> Node:
    """The tree of an ECMA-262 pattern. Raises PatternError."""
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.captures = 0
        self.names: dict[str, int] = {}
        self.references: list[int] = []
        self.named_references: list[str] = []
        # Group names may be used before they are declared, so the numbers are counted first.
        for found in re.finditer(r"\\.|\[(?:\\.|[^\]\\])*\]|\((?!\?)|\(\?<(?![=!])([^>]*)>", text, re.DOTALL):
            if found.group().startswith("("):
                self.captures += 1
                if found.group(1) is not None:
                    if found.group(1) in self.names:
                        raise PatternError(f"the group name {found.group(1)[:40]!r} is used twice")
                    self.names[found.group(1)] = self.captures

    def fail(self, why: str) -> PatternError:
        return PatternError(f"{why} at character {self.at}")

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self, token: str) -> bool:
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def whole(self) -> Node:
        node = self.choice()
        if self.at < len(self.text):
            raise self.fail("a ')' closes nothing")
        return node

    def choice(self) -> Node:
        self.depth += 1
        if self.depth > _MAX_NESTING:
            raise self.fail(f"groups are nested deeper than {_MAX_NESTING}")
        options = [self.sequence()]
        while self.take("|"):
            options.append(self.sequence())
        self.depth -= 1
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def sequence(self) -> Node:
        items: list[Node] = []
        while self.peek() not in {"", "|", ")"}:
            items.append(self.term())
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def term(self) -> Node:
        character = self.peek()
        if character in {"*", "+", "?"} or _QUANTIFIER.match(self.text, self.at):
            raise self.fail("a quantifier has nothing to repeat")
        node = self.atom(character)
        bounds = self.quantifier()
        if bounds is None:
            return node
        if isinstance(node, Assertion) or (isinstance(node, Group) and node.kind.startswith("(?")):
            raise self.fail("a quantifier repeats an assertion, which matches no text")
        lazy = self.take("?")
        if self.peek() in {"*", "+", "?"} or _QUANTIFIER.match(self.text, self.at):
            raise self.fail("a quantifier follows a quantifier; ECMA-262 has no possessive ones")
        return Repeat(node, bounds[0], bounds[1], lazy)

    def quantifier(self) -> tuple[int, int | None] | None:
        for token, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(token):
                return bounds
        found = _QUANTIFIER.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        least = int(found[1])
        most = least if found[2] is None else int(found[3]) if found[3] else None
        if most is not None and most < least:
            raise self.fail("a quantifier's limits are in the wrong order")
        return least, most

    def atom(self, character: str) -> Node:
        self.at += 1
        if character == "^":
            return Assertion("start")
        if character == "$":
            return Assertion("end")
        if character == ".":
            return Chars(complement(LINE_ENDS))
        if character == "(":
            return self.group()
        if character == "[":
            return self.char_class()
        if character == "\\":
            return self.escape()
        return Chars(((ord(character), ord(character)),))

    def group(self) -> Node:
        kind = "plain"
        for token in ("?=", "?!", "?<=", "?<!"):
            if self.take(token):
                kind = "(" + token
                break
        else:
            if not self.take("?:"):
                kind = "capture"
                if self.take("?"):
                    named = _GROUP_NAME.match(self.text, self.at)
                    if named is None:
                        raise self.fail("'(?' starts no group that ECMA-262 knows")
                    self.at = named.end()
        body = self.choice()
        if not self.take(")"):
            raise self.fail("a '(' is not closed")
        return Group(kind, body)

    def escape(self) -> Node:
        character = self.peek()
        if character == "":
            raise self.fail("a backslash ends the pattern")
        if character in {"b", "B"}:
            self.at += 1
            return Assertion("boundary" if character == "b" else "not-boundary")
        if character == "k":
            self.at += 1
            named = _GROUP_NAME.match(self.text, self.at)
            if named is None or named[1] not in self.names:
                raise self.fail("\\k names no group")
            self.at = named.end()
            return BackReference(self.names[named[1]])
        if character in "123456789":
            found = re.compile(r"[0-9]{1,6}").match(self.text, self.at)
            assert found is not None  # noqa: S101 - the digit was just seen
            number = int(found.group())
            if number > self.captures:
                raise self.fail(f"\\{number} refers to no group")
            self.at = found.end()
            return BackReference(number)
        return self.char_escape()

    def char_escape(self) -> Chars:
        """An escape that stands for characters, inside a class or outside."""
        character = self.peek()
        self.at += 1
        if character in "dDwWsS":
            ranges = {"d": DIGITS, "w": WORD, "s": SPACE}[character.lower()]
            return Chars(ranges if character.islower() else complement(ranges))
        if character in {"p", "P"}:
            found = _PROPERTY.match(self.text, self.at)
            if found is None:
                raise self.fail(f"\\{character} needs a property in braces")
            self.at = found.end()
            return Chars((), (f"{character}{{{found[1]}}}",))
        code = self.code_point(character)
        return Chars(((code, code),))

    def code_point(self, character: str) -> int:
        if character in _CONTROL:
            return _CONTROL[character]
        if character == "0":
            if self.peek() in set("0123456789"):
                raise self.fail("octal escapes are not allowed")
            return 0
        if character == "c":
            letter = self.peek()
            if not (letter.isascii() and letter.isalpha()):
                raise self.fail("\\c needs a letter")
            self.at += 1
            return ord(letter) % 32
        if character == "x":
            return self.hexadecimal(_HEX2, "\\x needs two hexadecimal digits")
        if character == "u":
            return self.unicode_escape()
        if character.isalnum() or character == "_":
            raise self.fail(f"\\{character} is no escape that ECMA-262 knows")
        return ord(character)

    def unicode_escape(self) -> int:
        braced = _BRACED_HEX.match(self.text, self.at)
        if braced is not None:
            code = int(braced[1], 16)
            if code > _LAST:
                raise self.fail("\\u{...} is beyond U+10FFFF")
            self.at = braced.end()
            return code
        high = self.hexadecimal(_HEX4, "\\u needs four hexadecimal digits")
        if 0xD800 <= high <= 0xDBFF and self.text.startswith("\\u", self.at):
            low = _HEX4.match(self.text, self.at + 2)
            if low is not None and 0xDC00 <= int(low.group(), 16) <= 0xDFFF:
                self.at = low.end()
                return 0x10000 + ((high - 0xD800) << 10) + int(low.group(), 16) - 0xDC00
        return high

    def hexadecimal(self, digits: re.Pattern[str], why: str) -> int:
        found = digits.match(self.text, self.at)
        if found is None:
            raise self.fail(why)
        self.at = found.end()
        return int(found.group(), 16)

    def char_class(self) -> Chars:
        negated = self.take("^")
        ranges: list[Range] = []
        properties: list[str] = []
        while not self.take("]"):
            first = self.class_atom()
            if self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in {"", "]"}:
                self.at += 1
                last = self.class_atom()
                if not (_is_single(first) and _is_single(last)):
                    raise self.fail("a class range needs a character on both sides")
                if last.ranges[0][0] < first.ranges[0][0]:
                    raise self.fail("a class range is in the wrong order")
                ranges.append((first.ranges[0][0], last.ranges[0][0]))
                continue
            ranges.extend(first.ranges)
            properties.extend(first.properties)
        if properties:
            return Chars(tuple(ranges), tuple(properties), negated)
        return Chars(complement(tuple(ranges)) if negated else tuple(ranges))

    def class_atom(self) -> Chars:
        character = self.peek()
        if character == "":
            raise self.fail("a '[' is not closed")
        self.at += 1
        if character != "\\":
            return Chars(((ord(character), ord(character)),))
        if self.peek() == "":
            raise self.fail("a backslash ends the pattern")
        if self.take("b"):
            return Chars(((8, 8),))
        return self.char_escape()


def _is_single(chars: Chars) -> bool:
    return not chars.properties and len(chars.ranges) == 1 and chars.ranges[0][0] == chars.ranges[0][1]
