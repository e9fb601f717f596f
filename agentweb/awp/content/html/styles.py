"""What a page's own style sheets and ``style`` attributes say of an element, as far as it decides whether it is seen.

Known are declarations with comments and escapes in them, ``!important``, and rules of the page's ``<style>`` for an
element by its name, id and classes (``p.note``, ``.a.b``, ``#x``). Not known are style sheets of other files and what a
script does. An id or class of which the page says more where something else holds too (``@media``, ``.open .a``,
``.a:hover``) may be seen at times: then nothing is made of the rules for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agentweb.awp.content.html.elements import Element, classes

Style = dict[str, str]
"""Names and values of properties, in small letters, without ``!important``."""

_MOST_RULES: Final = 500
"""Of a page; and of them, _MOST_LOOKED_AT of one element."""
_MOST_LOOKED_AT: Final = 50
# A comment that is never closed goes to the end.
_COMMENT: Final = re.compile(r"/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)")
_ESCAPE: Final = re.compile(r"\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \t\r\n\f])?|([^\r\n\f]))")
_SELECTOR: Final = re.compile(r"([a-z][a-z0-9]*|\*)?((?:[.#][a-z0-9_\u0080-\U0010ffff-]+)*)", re.IGNORECASE)
_NAME: Final = re.compile(r"[.#][^.#]+")
# In any selector, with escapes.
_NAMED: Final = re.compile(r"[.#](?:[A-Za-z0-9_\u0080-\U0010ffff-]|\\.)+")
_IMPORTANT: Final = re.compile(r"!\s*important$")
PROPERTIES: Final = frozenset(
    {
        "display", "visibility", "content-visibility", "opacity", "font-size", "position", "left", "right", "top",
        "bottom", "margin-left", "margin-top", "text-indent", "clip", "clip-path", "height", "width", "max-height",
        "max-width", "overflow", "overflow-x", "overflow-y", "transform", "scale", "color", "-webkit-text-fill-color",
        "background", "background-color", "background-clip", "-webkit-background-clip",
    }
)  # fmt: skip
"""Those of which anything is made here."""
_PUNCTUATION: Final = re.compile(r"[{};]")
_MAX_LAST: Final = 0x10FFFF


_Declared = tuple[str, str, bool]
"""Property, value, whether it is important."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """``names`` are ids and classes with their sign. ``weight`` is what of two rules wins: how many ids, classes and
    names of elements its selector has, then its place."""

    tag: str
    names: frozenset[str]
    weight: tuple[int, int, int, int]
    declared: tuple[_Declared, ...]


class Styles:
    """Those of one page; ``of`` answers for its elements."""

    def __init__(self, root: Element) -> None:
        self._rules: dict[str, list[_Rule]] = {}
        """By one name that an element has to have for them: ``.a``, ``#x``, ``p``."""
        self._at_times: set[str] = set()
        """Names of which something is said that does not always hold."""
        self._count = 0
        for sheet in root.iter("style"):
            if (sheet.get("media") or "all").strip().lower() not in {"all", "screen"}:
                continue
            for selectors, body, is_always in _rules_of("".join(sheet.itertext())):
                declared = _relevant(body)
                for selector in selectors.split(",") if declared else ():
                    self._add(selector.strip(), declared, is_always=is_always)

    def of(self, element: Element) -> Style:
        """What holds for the element; empty where nothing is said of it."""
        said = element.get("style")
        found = self._matching(element) if self._rules else []
        if not said and not found:
            return {}
        both = [each for rule in found for each in rule.declared] + (_relevant(said) if said else [])
        style = {name: value for name, value, is_important in both if not is_important}
        return style | {name: value for name, value, is_important in both if is_important}

    def _add(self, selector: str, declared: list[_Declared], *, is_always: bool) -> None:
        match = _SELECTOR.fullmatch(selector)
        if match is None or not is_always:
            self._at_times.update(_folded(_unescaped(each)) for each in _NAMED.findall(selector))
            return
        if not match[0] or match[0] == "*" or self._count >= _MOST_RULES:
            return
        names = [_folded(each) for each in _NAME.findall(match[2])]
        tag = (match[1] or "").lower()
        ids = sum(name[0] == "#" for name in names)
        weight = (ids, len(names) - ids, int(bool(tag)), self._count)
        key = min(names) if names else tag
        self._rules.setdefault(key, []).append(_Rule(tag, frozenset(names), weight, tuple(declared)))
        self._count += 1

    def _matching(self, element: Element) -> list[_Rule]:
        names = {f".{name}" for name in classes(element)}
        if ident := element.get("id"):
            names.add(f"#{ident}")
        if not names.isdisjoint(self._at_times):
            return []
        looked = [
            rule for key in (str(element.tag), *names) for rule in self._rules.get(key, ())[:_MOST_LOOKED_AT]
        ]
        found = (rule for rule in looked if rule.tag in {"", "*", element.tag} and rule.names <= names)
        return sorted(found, key=lambda rule: rule.weight)


def _folded(name: str) -> str:
    """Classes are compared in small letters here, ids as they are written."""
    return name.lower() if name[0] == "." else name


def _relevant(text: str) -> list[_Declared]:
    """What is said of PROPERTIES, the last of each."""
    last: dict[tuple[str, bool], _Declared] = {}
    for each in declarations(text):
        if each[0] in PROPERTIES:
            # In the order in which they were said last.
            last.pop((each[0], each[2]), None)
            last[each[0], each[2]] = each
    return list(last.values())


def declarations(text: str) -> Iterator[_Declared]:
    """Those of a ``style`` attribute or of the body of a rule, in order."""
    plain = _COMMENT.sub(" ", text) if "/*" in text else text
    for each in plain.split(";"):
        name, colon, value = each.partition(":")
        if not colon:
            continue
        name, value = _unescaped(name).strip().lower(), _unescaped(value).strip().lower()
        kept = _IMPORTANT.sub("", value)
        yield name, kept.strip(), kept != value


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_meant, text) if "\\" in text else text


def _meant(found: re.Match[str]) -> str:
    if not found[1]:
        return found[2]
    code = int(found[1], 16)
    return chr(code) if 0 < code <= _MAX_LAST and not 0xD800 <= code < 0xE000 else "\ufffd"


def _rules_of(sheet: str) -> Iterator[tuple[str, str, bool]]:
    """Selectors and body of each rule, and whether it always holds: not within another one."""
    text = _COMMENT.sub(" ", sheet)
    around: list[str] = []
    start, is_innermost = 0, False
    for found in _PUNCTUATION.finditer(text):
        at = found.start()
        if found[0] == "{":
            around.append(text[start:at].strip())
            is_innermost = True
        elif found[0] == "}" and around:
            selectors = around.pop()
            is_printed = any(each.lower().startswith("@media print") for each in around)
            if is_innermost and not selectors.startswith("@") and not is_printed:
                yield selectors, text[start:at], not around
            is_innermost = False
        elif is_innermost:
            # Between the declarations of one rule.
            continue
        start = at + 1
