"""Why a page has no content: left out, for it is not for everybody, or failed, which may pass."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_DETAIL: Final = 300


class Reason(StrEnum):
    """In reports and in the JSON of the command."""

    LOGIN = "login"
    HIDDEN = "hidden"
    GONE = "gone"
    NOINDEX = "noindex"
    ROBOTS = "robots"
    ELSEWHERE = "elsewhere"
    REDIRECTS = "redirects"
    TYPE = "type"
    LANGUAGE = "language"
    SIZE = "size"
    EMPTY = "empty"
    ADDRESS = "address"
    STATUS = "status"
    RAISED = "raised"
    TIMEOUT = "timeout"
    SITE_MAP = "sitemap"
    SELECTOR = "selector"


IN_WORDS: Final = {
    Reason.LOGIN: "it needs a login",
    Reason.HIDDEN: "its permission hides it from visitors",
    Reason.GONE: "there is no such page",
    Reason.NOINDEX: "it says noindex",
    Reason.ROBOTS: "robots.txt disallows it",
    Reason.ELSEWHERE: "it leads to another site",
    Reason.REDIRECTS: "it redirects without end",
    Reason.TYPE: "it is no HTML, Markdown or plain text",
    Reason.LANGUAGE: "its language is not among those that are kept",
    Reason.SIZE: "it is too large",
    Reason.EMPTY: "it says nothing",
    Reason.ADDRESS: "its address is none of this site's, or too long",
    Reason.STATUS: "its answer is no page",
    Reason.RAISED: "it raised an error",
    Reason.TIMEOUT: "it took too long",
    Reason.SITE_MAP: "the site map could not be read",
    Reason.SELECTOR: "no page can be looked at with it",
}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The page is not for everybody, or is none: what was published of it goes at once."""

    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """Nobody can say what the page is at the moment: what was published of it stays."""

    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What became of one page in one language when it was not published."""

    path: str
    language: str
    why: LeftOut | Failed

    def as_json(self) -> dict[str, str | bool]:
        return {
            "path": self.path,
            "language": self.language,
            "reason": str(self.why.reason),
            "detail": self.why.detail,
            "is_failure": isinstance(self.why, Failed),
        }
