"""The site that is looked at: in process or over the network, every question asked once, and all of it bounded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import quote, urljoin, urlsplit

from agentweb.awp import protocol
from agentweb.awp.content.languages import of_the_site
from agentweb.http.asking import Asking, own_place
from agentweb.http.calling import Calling
from agentweb.http.probes import Answer
from agentweb.wire.errors import ClientError
from agentweb.wire.http_signature import authority_of
from agentweb.wire.visible import text_of, visible

USER_AGENT: Final = "agentweb-analyze"
MAX_ADDRESS: Final = 2_000
_WRITTEN: Final = "%/:@!$&'()*+,;=~-._"
"""What stands in a path as it is, beside letters and digits."""

_T = TypeVar("_T")
Track = Callable[[Iterable[_T], int], Iterable[_T]]


class Asker(Protocol):
    """``http.asking.Asking`` and ``http.calling.Calling``."""

    def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """What an analysis may cost: content pages that are read (None: all), requests and seconds in all; seconds and
    bytes of one answer."""

    pages: int | None = None
    requests: int = 1_000_000
    seconds: float = 86_400.0
    answer_seconds: float = 10.0
    max_bytes: int = 50_000_000


IN_PROCESS: Final = Bounds()
OVER_THE_NETWORK: Final = Bounds(pages=20, requests=400, seconds=120.0, max_bytes=8_000_000)


class NotReachedError(Exception):
    """The site answers nothing at all; the message says why, and ``refusal`` what the client refused, if it did."""

    def __init__(self, why: str, refusal: ClientError | None = None) -> None:
        super().__init__(why)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a question: an answer, or the reason why there is none."""

    address: str
    answer: Answer | None
    why: str = ""
    refusal: ClientError | None = None

    @property
    def status(self) -> int:
        """0 without an answer."""
        return 0 if self.answer is None else self.answer.status

    @property
    def body(self) -> bytes:
        return b"" if self.answer is None else self.answer.body

    def header(self, name: str) -> str | None:
        """Of the answer, by its lower-case name."""
        return None if self.answer is None else self.answer.headers.get(name)

    @property
    def said(self) -> str:
        """In words: ``answers 404``, ``answers 301 and leads to https://…``, or why nothing came."""
        if self.answer is None:
            return f"gives no answer: {self.why}"
        if self.answer.is_redirect:
            target = visible(self.answer.headers.get("location", "nowhere")[:200])
            return f"answers {self.answer.status} and leads to {target}"
        logged = f" ({visible(self.answer.log[0][:200])})" if self.answer.log and self.status >= 500 else ""
        return f"answers {self.status}{logged}"


class Site:
    """``origin`` is scheme and host; ``prefix`` the path under which AWP is, as far as is known before the manifest.

    ``languages`` are those in which it has documents, its own first; none where nobody knows. ``track`` wraps what
    takes long, as a progress bar does: (items, how many) -> items.
    """

    def __init__(
        self,
        asker: Asker,
        *,
        origin: str,
        prefix: str = "",
        bounds: Bounds,
        is_own: bool,
        languages: Sequence[str] = (),
        track: Track[Any] = lambda items, _total: items,
    ) -> None:
        self.origin = origin
        self.prefix = prefix
        self.bounds = bounds
        self.is_own = is_own
        self.languages = tuple(languages)
        self.track = track
        self.asked = 0
        self._asker = asker
        self._ends = time.monotonic() + bounds.seconds
        self._replies: dict[tuple[Any, ...], Reply] = {}
        self._authority = (urlsplit(origin).scheme, authority_of(origin))

    def ask(self, method: str, address: str, headers: Mapping[str, str] | None = None) -> Reply:
        """The reply to a request without a body. ``address`` is the path with its query, as ``local`` gives it."""
        key = _key(method, address, headers or {})
        if key not in self._replies:
            self._replies[key] = self._ask(method, address, headers or {})
        return self._replies[key]

    def read_once(self, address: str, language: str = "") -> Reply:
        """GET, for what is looked at once only; the answer is not kept."""
        headers = _accepting(language)
        return self._replies.get(_key("GET", address, headers)) or self._ask("GET", address, headers)

    def get(self, address: str, language: str = "") -> Reply:
        """``language`` is asked for, if it is given."""
        return self.ask("GET", address, _accepting(language))

    def require(self, address: str) -> Reply:
        """``get`` of the first address. Raises NotReachedError when no answer comes, whatever it would be."""
        reply = self.get(address)
        if reply.answer is None:
            raise NotReachedError(reply.why, reply.refusal)
        return reply

    def local(self, url: object) -> str | None:
        """The path and query of an URL of this site, absolute or not; None for every other and for what is none."""
        if (
            not isinstance(url, str)
            or not url
            or len(url) > MAX_ADDRESS
            or not url.isprintable()
            or "\\" in url
        ):
            return None
        try:
            parts = urlsplit(urljoin(f"{self.origin}/", url))
            if parts.username is not None or (parts.scheme, authority_of(parts.geturl())) != self._authority:
                return None
        except ValueError:
            return None
        path, query = quote(parts.path or "/", safe=_WRITTEN), quote(parts.query, safe=f"{_WRITTEN}?")
        return f"{path}?{query}" if query else path

    def _ask(self, method: str, address: str, headers: Mapping[str, str]) -> Reply:
        if self.asked >= self.bounds.requests:
            return Reply(address, None, f"not asked, after {self.asked} requests")
        if time.monotonic() > self._ends:
            return Reply(address, None, f"not asked, after {self.bounds.seconds:g} seconds")
        self.asked += 1
        try:
            answer = self._asker.ask(method, address, {"User-Agent": USER_AGENT, **headers}, b"")
        except ClientError as error:
            return Reply(address, None, error.message, error)
        except Exception as error:
            if not self.is_own:
                raise
            # A middleware of the site that breaks is a finding about the site.
            return Reply(address, None, f"{type(error).__name__}: {text_of(error)}")
        return Reply(address, answer)


def _accepting(language: str) -> dict[str, str]:
    return {"Accept-Language": language} if language else {}


def _key(method: str, address: str, headers: Mapping[str, str]) -> tuple[Any, ...]:
    return method, address, tuple(sorted(headers.items()))


def own_site(*, pages: int | None = None, track: Track[Any] = lambda items, _total: items) -> Site:
    """This site, in process; ``pages`` of its content are read, or all.

    Raises ValueError when AGENTWEB["ORIGIN"] is no origin.
    """
    place = own_place()
    return Site(
        Asking(place.origin, user_agent=USER_AGENT),
        origin=place.origin,
        prefix=place.prefix,
        bounds=replace(IN_PROCESS, pages=pages),
        is_own=True,
        languages=of_the_site().kept,
        track=track,
    )


def site_at(
    url: str,
    *,
    may_be_private: bool = False,
    pages: int | None = None,
    bounds: Bounds = OVER_THE_NETWORK,
    track: Track[Any] = lambda items, _total: items,
) -> Site:
    """The site of an URL: of its front page, of what AWP is mounted under, or of its manifest.

    Raises ValueError for what is none.
    """
    parts = urlsplit(url)
    if parts.query or parts.fragment:
        raise ValueError("it must end with the path")
    origin = f"{parts.scheme}://{parts.netloc}"
    prefix = parts.path.removesuffix(f"/{protocol.WELL_KNOWN}").rstrip("/")
    if not f"{prefix}/".isprintable() or not prefix.isascii():
        raise ValueError("its path must be ASCII")
    if pages is not None:
        bounds = replace(bounds, pages=pages)
    asker = Calling(
        origin,
        user_agent=USER_AGENT,
        may_be_private=may_be_private,
        seconds=bounds.answer_seconds,
        max_bytes=bounds.max_bytes,
    )
    return Site(asker, origin=origin, prefix=prefix, bounds=bounds, is_own=False, track=track)
