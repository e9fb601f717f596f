"""What robots allow: the site's ``robots.txt`` (RFC 9309), as it answers in this process, and ``X-Robots-Tag``.

Read by Protego, which knows the wildcards and the precedence of the standard; ``urllib.robotparser`` knows neither.
"""

from __future__ import annotations

from typing import Final

from django.urls import get_script_prefix
from protego import Protego

from agentweb.awp.content.outcomes import Failed, LeftOut, Reason
from agentweb.awp.content.rendering import Renderer

AGENT: Final = "agentweb"
"""The product token by which a site may speak of its content for agents alone; else what is said of ``*`` holds."""
PATH: Final = "/robots.txt"

_NOT: Final = frozenset({"noindex", "none"})
_ANY_TYPE: Final = frozenset({"text/plain", "text/html", "application/octet-stream", ""})
# Directives that have a colon themselves, and are no names of robots.
_WITH_VALUE: Final = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


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
    answer = renderer.ask(PATH, language, _ANY_TYPE)
    if isinstance(answer, Failed):
        return answer
    if answer.status >= 500 or answer.status == 429:
        return Failed(Reason.ROBOTS, answer.raised or f"{PATH} answers {answer.status}")
    # 2.3.1.3: with any other status there are no rules.
    return Robots(origin, (answer.body or b"").decode(errors="replace"))


def forbids_index(header: str) -> bool:
    """Whether an ``X-Robots-Tag`` says noindex to everybody, or to us: ``otherbot: noindex`` is for others."""
    is_for_us = True
    for each in header.lower().split(","):
        name, colon, rest = each.strip().partition(":")
        directive = each.strip()
        if colon and name.strip() not in _WITH_VALUE:
            is_for_us, directive = name.strip() == AGENT, rest.strip()
        if is_for_us and directive in _NOT:
            return True
    return False


def gate(robots: Robots, path: str) -> LeftOut | None:
    return LeftOut(Reason.ROBOTS) if robots.disallows(path) else None
