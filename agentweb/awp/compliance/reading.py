"""JSON with the place of everything in it: what ``wire.strict_json`` refuses, each fault where it stands.

``strict_json`` tells one fault, for a caller who sends the document anew. A person who mends a file wants all of them,
and the line and column of each. What is refused is the same (the tests compare the two), and the words are its own
wherever it has them.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from decimal import Decimal
from json.decoder import scanstring  # type: ignore[attr-defined]  # CPython has had it since 2.6
from typing import Any, Final

from agentweb.wire import strict_json
from agentweb.wire.errors import Code, RequestError
from agentweb.wire.schema.problems import make_problem
from agentweb.wire.strict_json import Json
from agentweb.wire.visible import visible

MAX_BYTES: Final = 1_048_576
MAX_DEPTH: Final = 64
MAX_FAULTS: Final = 100
MAX_SHOWN: Final = 64
"""Characters of a name or number of somebody else's that are shown."""

_BOM: Final = "\ufeff"
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?[0-9]+(?P<rest>(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_CONSTANTS: Final = ("NaN", "Infinity", "-Infinity")
_LITERALS: Final = {"true": True, "false": False, "null": None}
_STRING_OR_BRACKET: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SHORT: Final = 15
"""Digits of an integer that no rule refuses."""


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A place in a text, counted from 1; columns are characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that strict JSON does not have; ``code`` is of ``wire.errors.Code``."""

    code: str
    message: str
    fix: str
    spot: Spot
    pointer: str = ""


@dataclass(slots=True)
class Node:
    """Where a value begins, and the name before it; both are offsets. ``parts`` are its members or items."""

    start: int
    name_start: int | None = None
    parts: dict[str, Node] | list[Node] | None = None


class Text:
    """A document's characters, and where its lines begin."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def spot(self, offset: int) -> Spot:
        """The place of a character."""
        line = bisect_right(self._starts, offset)
        return Spot(line, offset - self._starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """A line without its end; empty for one that is not there."""
        if not 1 <= number <= len(self._starts):
            return ""
        start = self._starts[number - 1]
        end = self._starts[number] if number < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


@dataclass(slots=True)
class Reading:
    """A document as it was read. ``value`` means nothing when ``is_readable`` is False: then it is no JSON at all.

    ``faults`` are in the order of the text, at most 100.
    """

    text: Text
    value: Json = None
    root: Node | None = None
    faults: list[Fault] = field(default_factory=list)

    @property
    def is_readable(self) -> bool:
        return self.root is not None

    def spot(self, pointer: str, *, of_name: bool = False) -> Spot:
        """Where the value of an RFC 6901 pointer begins, or its name; for what is missing, where it would belong."""
        node = self.root
        for part in pointer.split("/")[1:]:
            inner = None if node is None else _part(node, part.replace("~1", "/").replace("~0", "~"))
            if inner is None:
                break
            node = inner
        else:
            if of_name and node is not None and node.name_start is not None:
                return self.text.spot(node.name_start)
        return self.text.spot(0 if node is None else node.start)


def read(data: bytes, *, max_bytes: int = MAX_BYTES) -> Reading:
    """The document and every fault of it. Raises nothing for any bytes."""
    if len(data) > max_bytes:
        fault = Fault(
            Code.PAYLOAD_TOO_LARGE,
            f"The document has {len(data)} bytes; at most {max_bytes} are read.",
            "Make it smaller.",
            Spot(1, 1),
        )
        return Reading(Text(""), faults=[fault])
    try:
        whole = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = Text(data[: error.start].decode("utf-8"))
        fault = Fault(
            Code.INVALID_UNICODE,
            "Here is a byte that is not UTF-8.",
            "Save the file with the encoding UTF-8.",
            before.spot(len(before.text)),
        )
        return Reading(Text(data.decode("utf-8", errors="replace")), faults=[fault])
    reading = Reading(Text(whole.removeprefix(_BOM)))
    if whole.startswith(_BOM):
        reading.faults.append(
            Fault(
                Code.INVALID_UNICODE,
                "The document begins with a byte order mark.",
                "Save the file as UTF-8 without one.",
                Spot(1, 1),
            )
        )
    fault_of_all = _too_deep(reading.text) or _not_json(reading.text)
    if fault_of_all is not None:
        reading.faults.append(fault_of_all)
    else:
        _Walk(reading).run()
    return reading


def shown(name: str) -> str:
    """A name of somebody else's, for a person's eyes."""
    cut = name if len(name) <= MAX_SHOWN else f"{name[:MAX_SHOWN]}…"
    return f'"{visible(cut)}"'


def _part(node: Node, name: str) -> Node | None:
    if isinstance(node.parts, dict):
        return node.parts.get(name)
    if isinstance(node.parts, list) and name.isascii() and name.isdigit() and len(name) < _SHORT:
        number = int(name)
        return node.parts[number] if number < len(node.parts) else None
    return None


def _too_deep(text: Text) -> Fault | None:
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text.text):
        sign = found[0]
        if sign in {"[", "{"}:
            depth += 1
            if depth > MAX_DEPTH:
                return Fault(
                    Code.TOO_DEEP,
                    f"The document nests deeper than {MAX_DEPTH} levels.",
                    "Flatten it.",
                    text.spot(found.start()),
                )
        elif sign in {"]", "}"}:
            depth -= 1
    return None


def _not_json(text: Text) -> Fault | None:
    try:
        # Numbers stay texts: an int of a million digits is a matter of its own.
        json.JSONDecoder(parse_int=str, parse_float=str).decode(text.text)
    except json.JSONDecodeError as error:
        return Fault(
            Code.MALFORMED_JSON,
            f"Here the document stops being JSON: {error.msg}.",
            _advice(error),
            Spot(error.lineno, error.colno),
        )
    return None


def _advice(error: json.JSONDecodeError) -> str:
    """What most often stands behind the parser's words."""
    here = error.doc[error.pos : error.pos + 1]
    if not error.doc.strip():
        return "The document is empty; write one JSON object."
    if here == "'":
        return "JSON knows double quotes only: write \"name\", not 'name'."
    if here == "/":
        return "JSON has no comments; remove it."
    before = error.doc[: error.pos].rstrip()[-1:]
    if "trailing comma" in error.msg or (here in {"}", "]"} and before == ","):
        return "Remove the comma before the closing bracket."
    advice = {
        "Expecting property name enclosed in double quotes": "Write the member's name in double quotes.",
        "Expecting ',' delimiter": "Put a comma between this and what stands before it, or close the bracket.",
        "Expecting ':' delimiter": "Put a colon between the member's name and its value.",
        "Expecting value": "Write a value: an object, a list, a text in double quotes, a number, true, false or null.",
        "Extra data": "The document ended before this; remove what follows, or put it inside.",
        "Unterminated string starting at": "Close the text with a double quote.",
        "Invalid control character at": "Write line ends and tabs inside a text as \\n and \\t.",
    }
    return advice.get(error.msg, "Correct the escape; a backslash itself is written \\\\.")


class _Walk:
    """One walk over a text that is known to be JSON, but for NaN and Infinity, at most 64 levels deep."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._text = reading.text.text

    def run(self) -> None:
        start = self._after_space(0)
        self._reading.value, self._reading.root, _end = self._value(start, ())

    def _after_space(self, offset: int) -> int:
        found = _SPACE.match(self._text, offset)
        return found.end() if found is not None else offset

    def _value(self, start: int, path: tuple[str | int, ...]) -> tuple[Any, Node, int]:
        sign = self._text[start]
        if sign == "{":
            return self._object(start, path)
        if sign == "[":
            return self._list(start, path)
        if sign == '"':
            value, end = self._string(start, path)
            return value, Node(start), end
        for name in _CONSTANTS:
            if self._text.startswith(name, start):
                self._note(
                    Code.MALFORMED_JSON,
                    f"{name} is not JSON.",
                    "Write a finite number, a text or null.",
                    start,
                    path,
                )
                return None, Node(start), start + len(name)
        for name, literal in _LITERALS.items():
            if self._text.startswith(name, start):
                return literal, Node(start), start + len(name)
        value, end = self._number(start, path)
        return value, Node(start), end

    def _object(self, start: int, path: tuple[str | int, ...]) -> tuple[Any, Node, int]:
        members: dict[str, Any] = {}
        parts: dict[str, Node] = {}
        offset = self._after_space(start + 1)
        while self._text[offset] != "}":
            name_start = offset
            name, offset = self._string(offset, path)
            here = (*path, name)
            offset = self._after_space(self._after_space(offset) + 1)
            value, node, offset = self._value(offset, here)
            node.name_start = name_start
            if name in parts:
                first = self._reading.text.spot(parts[name].name_start or 0)
                self._note(
                    Code.DUPLICATE_KEY,
                    f"The member {shown(name)} occurs twice in one object; the first is in line {first.line}.",
                    "Keep one of them.",
                    name_start,
                    here,
                )
            members[name], parts[name] = value, node
            offset = self._after_separator(offset)
        return members, Node(start, parts=parts), offset + 1

    def _list(self, start: int, path: tuple[str | int, ...]) -> tuple[Any, Node, int]:
        items: list[Any] = []
        parts: list[Node] = []
        offset = self._after_space(start + 1)
        while self._text[offset] != "]":
            value, node, offset = self._value(offset, (*path, len(items)))
            items.append(value)
            parts.append(node)
            offset = self._after_separator(offset)
        return items, Node(start, parts=parts), offset + 1

    def _after_separator(self, offset: int) -> int:
        """The next value of a list or object, or the bracket that closes it."""
        offset = self._after_space(offset)
        return self._after_space(offset + 1) if self._text[offset] == "," else offset

    def _string(self, start: int, path: tuple[str | int, ...]) -> tuple[str, int]:
        value, end = scanstring(self._text, start + 1)
        if _SURROGATE.search(value):
            self._note(
                Code.INVALID_UNICODE,
                "This text holds half of a surrogate pair.",
                "Write the whole character or leave it out.",
                start,
                path,
            )
        if "\0" in value:
            self._note(
                Code.INVALID_UNICODE,
                "This text holds the character NUL (\\u0000).",
                "Leave it out.",
                start,
                path,
            )
        return value, end

    def _number(self, start: int, path: tuple[str | int, ...]) -> tuple[Any, int]:
        found = _NUMBER.match(self._text, start)
        if found is None:  # the text was parsed before, so this cannot be
            raise ValueError(f"No JSON value at {start}.")
        literal = found[0]
        if len(literal) <= _SHORT and not found["rest"]:
            return int(literal), found.end()
        try:
            strict_json.loads(literal.encode(), max_bytes=MAX_BYTES)
        except RequestError as error:
            self._note(error.code, error.message, "Write a shorter number, or a text.", start, path)
            return 0, found.end()
        return (Decimal(literal) if found["rest"] else int(literal)), found.end()

    def _note(self, code: str, message: str, fix: str, start: int, path: tuple[str | int, ...]) -> None:
        if len(self._reading.faults) < MAX_FAULTS:
            pointer = make_problem(path, code, message)["pointer"]
            self._reading.faults.append(Fault(code, message, fix, self._reading.text.spot(start), pointer))
