"""The one place where the client touches the network: guarded, bounded, without cookies or redirects."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final
from urllib.parse import urljoin

from agentweb.client.addresses import check_url
from agentweb.client.deadline import Deadline
from agentweb.client.errors import MissingExtraError, UnreachableError
from agentweb.client.peers import PeerGuard
from agentweb.wire.errors import ClientError, Code
from agentweb.wire.http_signature import authority_of

try:
    import httpx
except ImportError:  # the extra "client" is not installed; said at the first call
    httpx = None  # type: ignore[assignment]

MAX_REDIRECTS: Final = 3
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_HEADERS: Final = {
    "Accept": "application/json",
    # Bodies are capped by their bytes on the wire; a packed one could unfold to anything.
    "Accept-Encoding": "identity",
    "User-Agent": "agentweb-client",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. ``headers`` have lower-case names; ``url`` is where it came from."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class Transport:
    """Sends requests. ``allowed`` hosts are called although they are not public; ``seconds`` bound one request, and a
    document with its redirects.

    With a client of the caller's own, its proxies and TLS settings hold; redirects, cookies and netrc stay off.
    ``loopback`` is as in ``addresses.check_url``: False for whoever fetches what strangers name.
    """

    def __init__(
        self,
        http: httpx.Client | None = None,
        *,
        allowed: Collection[str] = (),
        seconds: float = 10.0,
        loopback: bool = True,
    ) -> None:
        self._http = http
        self._owns_http = http is None
        self._allowed = frozenset(host.lower() for host in allowed)
        self._seconds = seconds
        self._deadline = Deadline()
        self._loopback = loopback
        self._peers = PeerGuard(self._allowed, loopback=loopback)

    def wire_url(self, url: str, base: str | None = None) -> str:
        """The URL exactly as it will be on the wire, without fragment: what a signature must cover.

        A relative one counts from ``base``. Raises ClientError ``site_unreachable`` for a URL that cannot be
        called, one with a user name among them.
        """
        _require_httpx()
        try:
            parsed = httpx.URL(url if base is None else urljoin(base, url))
            if parsed.userinfo:
                raise ValueError("it has a user name")
            path = parsed.raw_path.decode("ascii")
            wired = f"{parsed.scheme}://{parsed.netloc.decode('ascii')}{path}"
            authority_of(wired)
        except (httpx.InvalidURL, ValueError) as error:
            raise ClientError(
                Code.SITE_UNREACHABLE, f"The URL cannot be called: {error}", reason="url"
            ) from None
        return wired

    def send(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes = b"", max_bytes: int
    ) -> Answer:
        """One request and its whole answer, whatever its status; redirects are answers too.

        Raises UnreachableError when no answer came (or not within the time), ClientError ``response_invalid``
        (``reason`` ``too_large``, ``content_coding``) for an answer over ``max_bytes`` or in a content coding,
        ``site_unreachable`` for a forbidden address.
        """
        return self._send(method, url, headers, body, max_bytes=max_bytes, deadline=self._deadline_now())

    def _send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        max_bytes: int,
        deadline: float,
    ) -> Answer:
        client = self._client()
        check_url(url, self._allowed, loopback=self._loopback, seconds=deadline - time.monotonic())

        def trace(name: str, info: dict[str, Any]) -> None:
            left = deadline - time.monotonic()
            self._peers.trace(name, info, host=request.url.raw_host.decode("ascii"), seconds=left)
            self._deadline.trace(name, info)

        request = client.build_request(
            method,
            url,
            headers={**_HEADERS, **headers},
            content=body,
            timeout=self._seconds,
            extensions={"trace": trace},
        )
        request.headers.pop("Cookie", None)
        try:
            with self._deadline.until(deadline):
                response = self._begun(client, request)
                try:
                    received = _read(response, max_bytes, deadline)
                finally:
                    response.close()
        except (
            httpx.ConnectError,
            httpx.ConnectTimeout,
            httpx.PoolTimeout,
            httpx.UnsupportedProtocol,
        ) as error:
            raise UnreachableError(
                f"No connection to {_host_and_port(request.url)}: {_why(error)}.",
                may_have_arrived=False,
                reason=_reason(error),
            ) from None
        except httpx.TransportError as error:
            raise UnreachableError(
                f"{_host_and_port(request.url)} did not answer: {_why(error)}.",
                may_have_arrived=True,
                reason=_reason(error),
            ) from None
        names = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status_code, names, received, url)

    def _begun(self, client: httpx.Client, request: httpx.Request) -> httpx.Response:
        """The answer, of which only the head was read; a host's next address is tried where one cannot be reached."""
        self._peers.begin()
        while True:
            try:
                return client.send(request, stream=True, follow_redirects=False, auth=None)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if not self._peers.has_untried:
                    raise

    def get(self, url: str, *, headers: Mapping[str, str], max_bytes: int) -> Answer:
        """A document; up to three redirects are followed, on the same scheme and host only.

        Raises as ``send``, and ClientError ``site_unreachable`` for any other redirect (``reason`` ``redirect``,
        ``redirects`` for too many).
        """
        origin = url.partition("://")[0], authority_of(url)
        deadline = self._deadline_now()
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._send("GET", url, headers, b"", max_bytes=max_bytes, deadline=deadline)
            if answer.status not in _REDIRECTS or "location" not in answer.headers:
                return answer
            url = self.wire_url(answer.headers["location"], base=url)
            if (url.partition("://")[0], authority_of(url)) != origin:
                raise ClientError(
                    Code.SITE_UNREACHABLE,
                    "The site redirects to another host; call that one.",
                    reason="redirect",
                )
        raise ClientError(
            Code.SITE_UNREACHABLE,
            f"The site redirects more than {MAX_REDIRECTS} times.",
            reason="redirects",
        )

    def _deadline_now(self) -> float:
        """Of the monotonic clock. Making the first client takes a while, for which no site is to blame."""
        self._client()
        return time.monotonic() + self._seconds

    def close(self) -> None:
        """Close the connections, unless the client was the caller's own."""
        if self._http is not None and self._owns_http:
            self._http.close()
            self._http = None

    def _client(self) -> httpx.Client:
        _require_httpx()
        if self._http is None:
            self._http = httpx.Client(
                trust_env=False,  # no netrc: it would send passwords to whoever asks
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                follow_redirects=False,
            )
        return self._http


def _require_httpx() -> None:
    if httpx is None:
        raise MissingExtraError


def _read(response: httpx.Response, max_bytes: int, deadline: float) -> bytes:
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding not in {"", "identity"}:
        raise ClientError(
            Code.RESPONSE_INVALID,
            "The site packed its answer although it was told not to.",
            reason="content_coding",
        )
    received = bytearray()
    # A transport of somebody's own may hand over the answer whole.
    for chunk in [response.content] if response.is_stream_consumed else response.iter_raw():
        received += chunk
        if len(received) > max_bytes:
            raise ClientError(
                Code.RESPONSE_INVALID, f"The answer is larger than {max_bytes} bytes.", reason="too_large"
            )
        if time.monotonic() > deadline:
            raise UnreachableError(
                "The answer took too long to arrive.", may_have_arrived=True, reason="time"
            )
    return bytes(received)


def _host_and_port(url: httpx.URL) -> str:
    """``shop.example port 443``: the port also where the URL leaves it out."""
    return f"{url.host} port {url.port or (443 if url.scheme == 'https' else 80)}"


def _reason(error: Exception) -> str:
    return "time" if isinstance(error, httpx.TimeoutException) else "connection"


def _why(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__
