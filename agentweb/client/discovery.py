"""Finding a site's manifest: where it is, that it is the site's own, and when it must be read again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final

from agentweb.client.calls import read_error
from agentweb.client.errors import UnreachableError
from agentweb.client.manifest import WELL_KNOWN, Manifest, read_manifest
from agentweb.client.patience import Patience, retry_after_of
from agentweb.client.transport import Answer, Transport
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.http_signature import authority_of
from agentweb.wire.strict_json import loads

MAX_BYTES: Final = 1_048_576
MAX_KEPT: Final = 128
"""Manifests kept in memory; the one read longest ago goes first."""
DEFAULT_AGE: Final = 60
LONGEST_AGE: Final = 3_600
"""Seconds for which a manifest is used without asking again, whatever its site says."""

_MAX_AGE: Final = re.compile(r"(?:^|[\s,])max-age=([0-9]{1,9})(?:$|[\s,;])", re.IGNORECASE)
_JSON: Final = re.compile(r"application/(?:json|[a-z0-9.+-]+\+json)(?:\s*;.*)?", re.IGNORECASE)
_PASSING: Final = frozenset({429, 502, 503, 504})
_MOVED: Final = frozenset({301, 302, 303, 307, 308})

Sign = Callable[[str], Mapping[str, str]]
"""From the URL of a GET to the headers that sign it."""


@dataclass(frozen=True, slots=True)
class _Entry:
    manifest: Manifest
    etag: str | None
    fresh_until: float


class Discovery:
    """Reads manifests and keeps them while they are fresh. Share it between threads."""

    def __init__(
        self, transport: Transport, *, clock: Callable[[], float], patience: Callable[[], Patience]
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._patience = patience
        self._entries: dict[tuple[str, str], _Entry] = {}
        self._lock = Lock()
        self.on_read: Callable[[Manifest], None] | None = None
        """Is told of each manifest that was read anew and that everybody may read."""

    def load(
        self, url: str, *, revalidate: bool = True, reader: str = "", sign: Sign | None = None
    ) -> Manifest:
        """The manifest of the site of ``url`` (any URL of it).

        ``reader`` names who asks when the request is signed by ``sign``: another reader may see another
        document. Without ``revalidate`` a fresh one is used as it is. Raises ClientError ``site_unreachable``
        or ``manifest_invalid``, and SiteError for a signed request that the site refused.
        """
        where = manifest_url(url)
        with self._lock:
            known = self._entries.get((where, reader))
        if known is not None and not revalidate and self._clock() < known.fresh_until:
            return known.manifest
        headers = {"If-None-Match": known.etag} if known is not None and known.etag else {}
        answer = self._fetch(where, headers, sign)
        fresh_until = self._clock() + _age(answer)
        if answer.status == 304 and known is not None:
            entry = replace(known, fresh_until=fresh_until)
        else:
            if sign is not None and (refused := read_error(answer)) is not None:
                raise refused
            entry = _Entry(read_answer(answer, where), answer.headers.get("etag"), fresh_until)
        with self._lock:
            self._entries.pop((where, reader), None)
            self._entries[where, reader] = entry
            if len(self._entries) > MAX_KEPT:
                del self._entries[next(iter(self._entries))]
        if self.on_read is not None and not reader and entry.manifest is not (known and known.manifest):
            self.on_read(entry.manifest)
        return entry.manifest

    def keeps(self, url: str) -> bool:
        """Is there a manifest of this site from an earlier reading?"""
        with self._lock:
            return (manifest_url(url), "") in self._entries

    def forget(self, url: str) -> None:
        """Read the site's manifest anew before it is next used."""
        where = manifest_url(url)
        with self._lock:
            for key in [key for key in self._entries if key[0] == where]:
                del self._entries[key]

    def _fetch(self, where: str, headers: Mapping[str, str], sign: Sign | None) -> Answer:
        patience = self._patience()
        while True:
            patience.begin()
            try:
                answer = self._fetch_once(where, headers, sign)
            except UnreachableError:
                if patience.wait():
                    continue
                raise
            if answer.status not in _PASSING:
                return answer
            asked = retry_after_of(answer.headers, self._clock())
            if not patience.wait(asked):
                raise ClientError(
                    Code.SITE_UNREACHABLE,
                    f"The site is busy (status {answer.status}); try later.",
                    retry_after=asked,
                    reason="busy",
                )

    def _fetch_once(self, where: str, headers: Mapping[str, str], sign: Sign | None) -> Answer:
        with refusing_as_manifest():
            if sign is None:
                return self._transport.get(where, headers=headers, max_bytes=MAX_BYTES)
            # A signature is for one address, so a signed request is never redirected.
            signed = {**headers, **sign(where)}
            return self._transport.send("GET", where, headers=signed, max_bytes=MAX_BYTES)


@contextmanager
def refusing_as_manifest() -> Iterator[None]:
    """What is wrong with an answer in the block is wrong with a manifest: ``manifest_invalid``, with its ``reason``."""
    try:
        yield
    except ClientError as error:
        if error.code == Code.RESPONSE_INVALID:
            raise ClientError(Code.MANIFEST_INVALID, error.message, **error.extra) from None
        raise


def manifest_url(url: str) -> str:
    """The address of the manifest of a URL's site.

    Raises ClientError ``site_unreachable`` for what is no address of a site, a bare host among it: whether it is
    called with TLS is not guessed.
    """
    given: object = url  # from a model, too
    if not isinstance(given, str):
        raise ClientError(
            Code.SITE_UNREACHABLE,
            f"The address of a site is a text, not {type(given).__name__}.",
            reason="url",
        )
    if "://" not in url:
        raise ClientError(
            Code.SITE_UNREACHABLE,
            f"{url[:200]!r} has no scheme; write https://{url[:200]}, or http:// for a site on your own machine.",
            reason="url",
        )
    try:
        return f"{url.partition('://')[0].lower()}://{authority_of(url)}{WELL_KNOWN}"
    except ValueError as error:
        raise ClientError(
            Code.SITE_UNREACHABLE, f"This is not the address of a site: {error}", reason="url"
        ) from None


def read_answer(answer: Answer, where: str) -> Manifest:
    """The manifest in what the address ``where`` answered.

    Raises ClientError ``manifest_invalid`` with a ``reason``: ``status``, ``media_type``, ``json`` for what is no JSON
    or JSON that we do not take, ``site`` for one that calls itself another site, else ``shape``.
    """
    if answer.status != 200:
        raise ClientError(
            Code.MANIFEST_INVALID,
            "The site moved its manifest; call the other address."
            if answer.status in _MOVED
            else f"The site publishes no action manifest (status {answer.status} at {WELL_KNOWN}).",
            http_status=answer.status,
            reason="status",
        )
    if not _JSON.fullmatch(answer.headers.get("content-type", "").strip()):
        raise ClientError(
            Code.MANIFEST_INVALID, "The manifest is not served as application/json.", reason="media_type"
        )
    try:
        document = loads(answer.body, max_bytes=MAX_BYTES)
    except AgentError as error:
        raise ClientError(
            Code.MANIFEST_INVALID, f"The manifest is not JSON: {error.message}", reason="json"
        ) from None
    return read_manifest(document, site=authority_of(where), url=answer.url)


def _age(answer: Answer) -> int:
    control = answer.headers.get("cache-control", "")
    if "no-store" in control or "no-cache" in control:
        return 0
    match = _MAX_AGE.search(control)
    return min(int(match[1]), LONGEST_AGE) if match else DEFAULT_AGE
