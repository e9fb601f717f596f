"""What robots allow: the site's ``robots.txt`` (RFC 9309), as it answers in this process.

Read by Protego, which knows the wildcards and the precedence of the standard; ``urllib.robotparser`` knows neither.
Where it cannot be read, nothing is taken for allowed: an answer of any type is read, redirects are followed, and what
is left is a failure of the run.
"""

from __future__ import annotations

import zlib
from typing import Final

from django.urls import get_script_prefix
from protego import Protego

from agentweb.awp.content.decoding import decoded
from agentweb.awp.content.outcomes import MAX_DETAIL, Failed, Reason
from agentweb.awp.content.rendering import PASSING, Answer, Renderer
from agentweb.awp.content.robot_tags import AGENT
from agentweb.wire.visible import visible

__all__ = ["AGENT", "MAX_BYTES", "PATH", "Robots", "read"]

PATH: Final = "/robots.txt"
MAX_BYTES: Final = 500 * 1024
"""RFC 9309 2.5: what is read at least. Of a longer text, the lines that are whole in it."""


class Robots:
    """``text`` is that of robots.txt, empty where there is none."""

    def __init__(self, origin: str, text: str) -> None:
        self._origin = origin
        self._text = text
        self._rules = Protego.parse(text) if text else None

    def __reduce__(self) -> tuple[type[Robots], tuple[str, str]]:
        return Robots, (self._origin, self._text)

    def disallows(self, path: str) -> bool:
        return self._rules is not None and not self._rules.can_fetch(self._origin + path, AGENT)


def read(renderer: Renderer, origin: str, language: str) -> Robots | Failed:
    """The site's rules. Failed when the site cannot say: then nothing may be taken for allowed (RFC 9309 2.3.1.4)."""
    if get_script_prefix() != "/":
        # It is at the root of the host, and so not this site's own to answer.
        return Robots(origin, "")
    answer = renderer.beginning(PATH, language, MAX_BYTES)
    if isinstance(answer, Failed):
        return answer
    status = answer.status
    if 200 <= status < 300:
        return _rules(origin, answer)
    if 400 <= status < 500 and status not in PASSING:
        # 2.3.1.3: there are no rules.
        return Robots(origin, "")
    location = visible(answer.headers.get("location", ""))
    said = f"{PATH} leads to {location}, where it was not read" if location else f"{PATH} answers {status}"
    return Failed(Reason.ROBOTS, (answer.raised or said)[:MAX_DETAIL])


def _rules(origin: str, answer: Answer) -> Robots | Failed:
    body, coding = answer.body or b"", answer.headers.get("content-encoding", "").strip().lower()
    is_whole = len(body) < MAX_BYTES
    if coding in {"gzip", "x-gzip", "deflate"}:
        # No request asked for it. Whatever a few bytes become, no more than the limit of it is made.
        unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        try:
            body = unpacking.decompress(body, MAX_BYTES)
        except zlib.error:
            return Failed(Reason.ROBOTS, f"{PATH} is not {coding}, as it says")
        is_whole = unpacking.eof
    elif coding not in {"", "identity"}:
        return Failed(Reason.ROBOTS, f"{PATH} is encoded ({visible(coding)[: MAX_DETAIL // 2]})")
    text = decoded(body, "utf-8")
    if not is_whole:
        # Half a rule may allow more than the whole one.
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
    return Robots(origin, text)
