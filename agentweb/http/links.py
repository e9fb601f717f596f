"""The links of a document that lead back to this site, as paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from agentweb.wire.errors import RequestError
from agentweb.wire.strict_json import loads

_LARGEST: Final = 50_000_000
_NOT_LINKS: Final = frozenset({"input", "output", "example", "examples", "default", "enum", "const", "with"})
"""Members that hold schemas and made-up values: an address in there is an example."""
_END: Final = r"[^\s\"'<>()\[\]{}\\|^`]*"


def of(content: bytes, media_type: str, origin: str) -> list[str]:
    """Path and query of each link, once, in the order of the document. Templates (``{id}``) are no links."""
    texts = list(_texts(content, media_type))
    pattern = re.compile(rf"{re.escape(origin)}(/{_END})(\{{)?")
    found = [
        match[1].partition("#")[0].rstrip(".,;:")
        for text in texts
        for match in pattern.finditer(text)
        if match[2] is None
    ]
    return list(dict.fromkeys(found))


def _texts(content: bytes, media_type: str) -> Iterator[str]:
    if media_type.endswith("json"):
        with suppress(RequestError):  # a document that something rewrote; D055 tells
            yield from _strings(loads(content, max_bytes=_LARGEST))
    elif media_type.startswith("text/") or media_type.endswith("xml"):
        yield content.decode(errors="replace")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for name, member in value.items():
            if name not in _NOT_LINKS:
                yield from _strings(member)
