"""Whether a reader sees an element, by its attributes and by what its page's styles say of it (``styles``).

What is not seen is not content: whoever can write into a page could otherwise tell agents what no person is told. Text
for those who listen to a page (``sr-only`` and other names of it) is content that people get, so it stays where it is
as short as a label is.
"""

from __future__ import annotations

import re
from typing import Final

from agentweb.awp.content.html.elements import Element, classes
from agentweb.awp.content.html.styles import Style

_FOR_LISTENERS: Final = frozenset(
    {"sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text", "screen-reader-only", "u-sr-only"}
)
MAX_LABEL: Final = 200
"""Characters of a text that only those who listen get."""

_NUMBER: Final = re.compile(
    r"([+-]?(?:[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(?:e[+-]?[0-9]{1,2})?)(%|[a-z]{0,4})"
)
_FUNCTION: Final = re.compile(r"([a-z0-9-]{1,30})\(([^()]{0,200})\)")
_OFF_SCREEN: Final = {
    "px": 500.0,
    "em": 30.0,
    "rem": 30.0,
    "%": 100.0,
    "vw": 100.0,
    "vh": 100.0,
    "ch": 60.0,
    "pt": 400.0,
}
"""How far away in each unit nothing is seen."""
_SMALL: Final = {"px": 1.0, "pt": 1.0, "em": 0.1, "rem": 0.1, "%": 10.0}
"""Sizes of letters that nobody reads."""
_CLIPPED: Final = frozenset({"hidden", "clip"})
_WHITE: Final = frozenset({"white", "#fff", "#ffffff"})
_BLACK: Final = frozenset({"black", "#000", "#000000"})


def is_hidden(element: Element, style: Style, *, has_content: bool) -> bool:
    """Whether nobody sees the element nor anything in it; ``has_content`` is whether the page's content is within."""
    attributes = element.attrib
    if attributes:
        hidden = attributes.get("hidden")
        # Such an element is shown when a reader looks for what it says.
        if hidden is not None and hidden.strip().lower() != "until-found":
            return True
        if attributes.get("aria-hidden", "").strip().lower() == "true":
            return True
        # A whole page may be so while something is in front of it.
        if "inert" in attributes and not has_content:
            return True
        if "class" in attributes and _is_long_for_listeners(element):
            return True
    return bool(style) and (
        _is_off(style) or _is_away(style) or _is_clipped(style) or _is_like_its_ground(style)
    )


def hides_text(style: Style) -> bool:
    """Whether its letters are too small to be read, which holds for what is in it as far as that says otherwise."""
    size = style.get("font-size")
    return size is not None and _is_small(size)


def shows_text(style: Style) -> bool:
    """Whether letters in it are of a size of their own, whatever is around it."""
    size = style.get("font-size")
    if size is None or _is_small(size):
        return False
    number = _number(size)
    return number is None or number[1] not in {"%", "em"}


def _is_small(size: str) -> bool:
    number = _number(size)
    return number is not None and number[0] <= _SMALL.get(number[1], 0.0)


def _is_long_for_listeners(element: Element) -> bool:
    if _FOR_LISTENERS.isdisjoint(classes(element)):
        return False
    length = 0
    for text in element.itertext():
        length += len(text)
        if length > MAX_LABEL:
            return True
    return False


def _is_off(style: Style) -> bool:
    if style.get("display") == "none" or style.get("visibility") in {"hidden", "collapse"}:
        return True
    if style.get("content-visibility") == "hidden":
        return True
    opacity = _number(style.get("opacity", "1"))
    return opacity is not None and opacity[0] <= (1.0 if opacity[1] == "%" else 0.01)


def _is_away(style: Style) -> bool:
    if style.get("position") in {"absolute", "fixed"} and any(
        _is_far(style.get(side, "")) for side in ("left", "right", "top", "bottom")
    ):
        return True
    if any(_is_far(style.get(side, "")) for side in ("margin-left", "margin-top", "text-indent")):
        return True
    indent = _number(style.get("text-indent", ""))
    if indent is not None and indent[1] == "%" and indent[0] >= 100 and _is_cut_off(style):
        return True
    for name, arguments in _FUNCTION.findall(style.get("transform", "")):
        numbers = [_number(each.strip()) for each in arguments.split(",")]
        if name.startswith("scale") and any(each is not None and not each[0] for each in numbers[:2]):
            return True
        if name.startswith("translate") and any(_is_far(each.strip()) for each in arguments.split(",")[:2]):
            return True
    scale = [_number(each) for each in style.get("scale", "").split()]
    return any(each is not None and not each[0] for each in scale)


def _is_clipped(style: Style) -> bool:
    if _is_cut_off(style):
        sizes = (_number(style.get(each, "")) for each in ("height", "width", "max-height", "max-width"))
        if any(each is not None and each[0] <= 1 and each[1] in {"", "px"} for each in sizes):
            return True
    if style.get("position") in {"absolute", "fixed"}:
        for name, arguments in _FUNCTION.findall(style.get("clip", "")):
            edges = [_number(each) for each in re.split(r"[\s,]+", arguments.strip())]
            if name == "rect" and all(each is not None and abs(each[0]) <= 1 for each in edges):
                return True
    for name, arguments in _FUNCTION.findall(style.get("clip-path", "")):
        first = _number(arguments.split()[0]) if arguments.split() else None
        if first is not None and (
            (name == "inset" and first[1] == "%" and first[0] >= 50) or (name == "circle" and not first[0])
        ):
            return True
    return False


def _is_cut_off(style: Style) -> bool:
    values = f"{style.get('overflow', '')} {style.get('overflow-x', '')} {style.get('overflow-y', '')}"
    return not _CLIPPED.isdisjoint(values.split())


def _is_like_its_ground(style: Style) -> bool:
    """Transparent letters, or of the colour that is said to be behind them."""
    if "text" in (style.get("background-clip"), style.get("-webkit-background-clip")):
        # The ground shows through the letters.
        return False
    color = _color(style.get("-webkit-text-fill-color") or style.get("color", ""))
    if color == "transparent":
        return True
    ground = style.get("background-color") or style.get("background", "")
    return bool(color) and color == _color(ground)


def _color(text: str) -> str:
    """One spelling of a colour; empty where it is none that is known here, and of ``currentcolor``."""
    text = text.strip()
    if text in _WHITE:
        return "#ffffff"
    if text in _BLACK:
        return "#000000"
    if text == "transparent":
        return text
    if text.startswith("#"):
        digits = text[1:]
        if len(digits) in {3, 4}:
            digits = "".join(each * 2 for each in digits)
        if len(digits) == 8:
            return "transparent" if digits.endswith("00") else f"#{digits[:6]}"
        return f"#{digits}" if len(digits) == 6 else ""
    match = _FUNCTION.fullmatch(text)
    if match is None or match[1] not in {"rgb", "rgba", "hsl", "hsla"}:
        return text if text.isalpha() and text not in {"currentcolor", "inherit", "initial", "unset"} else ""
    numbers = [_number(each) for each in re.split(r"[\s,/]+", match[2].strip())]
    if any(each is None for each in numbers):
        return ""
    values = [each[0] for each in numbers if each is not None]
    if len(values) == 4 and not values[3]:
        return "transparent"
    if match[1].startswith("rgb") and len(values) >= 3:
        return "#" + "".join(f"{max(0, min(255, round(each))):02x}" for each in values[:3])
    return match[0]


def _is_far(length: str) -> bool:
    number = _number(length)
    return number is not None and number[0] <= -_OFF_SCREEN.get(number[1] or "px", 1e9)


def _number(text: str) -> tuple[float, str] | None:
    """A number and its unit."""
    match = _NUMBER.fullmatch(text.strip())
    return None if match is None else (float(match[1]), match[2])
