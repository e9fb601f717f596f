"""What ``bridge.js`` posts, well-formed or refused with every problem."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from agentweb.aip.bridge.open_pages import News
from agentweb.wire.schema import compile_schema
from agentweb.wire.strict_json import Json, dumps

MAX_OFFERS: Final = 100
MAX_ANSWERS: Final = 50
MAX_MESSAGE: Final = 500

TAB: Final = re.compile(r"op_[A-Za-z0-9_-]{22}")

_ANSWER: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["call"],
    "properties": {
        "call": {"type": "string", "pattern": "^bc_[A-Za-z0-9_-]{22}$"},
        "result": {},
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,63}$"},
                "message": {"type": "string", "maxLength": MAX_MESSAGE},
            },
            "additionalProperties": False,
        },
    },
    "oneOf": [{"required": ["result"]}, {"required": ["error"]}],
    "additionalProperties": False,
}
_BODY: Final = compile_schema(
    {
        "type": "object",
        "properties": {
            "tab": {"type": "string", "pattern": f"^{TAB.pattern}$"},
            "page": {"type": "string", "pattern": "^/", "maxLength": 500},
            "state": {"type": "object"},
            "offers": {
                "type": "array",
                "maxItems": MAX_OFFERS,
                "items": {"type": "string", "minLength": 1, "maxLength": 100},
            },
            "active": {"type": "boolean"},
            "answers": {"type": "array", "maxItems": MAX_ANSWERS, "items": _ANSWER},
            "closed": {"type": "boolean"},
        },
        "anyOf": [{"required": ["tab"]}, {"required": ["page"]}],
        "additionalProperties": False,
    }
)


@dataclass(frozen=True, slots=True)
class Answer:
    """``text`` is the result's JSON, or that of ``code`` and ``message`` when the page refused."""

    call: str
    text: str
    is_refused: bool


@dataclass(frozen=True, slots=True)
class Message:
    """``tab`` is the id of an open page; without one, ``page`` is the path of a page that has just opened."""

    tab: str | None
    page: str | None
    news: News
    is_closed: bool
    answers: list[Answer] = field(default_factory=list)


def read(value: Any) -> Message:
    """The message in a parsed body. Raises invalid_input with every problem."""
    _BODY.check(value)
    news = News(state=value.get("state"), offers=value.get("offers"), is_active=value.get("active", False))
    return Message(
        tab=value.get("tab"),
        page=value.get("page"),
        news=news,
        is_closed=value.get("closed", False),
        answers=[_answer(each) for each in value.get("answers", [])],
    )


def _answer(value: dict[str, Json]) -> Answer:
    is_refused = "error" in value
    text = dumps(value["error" if is_refused else "result"]).decode()
    return Answer(str(value["call"]), text, is_refused)
