"""Finding actions among the sites that an agent has met, and with the help of an index among those of others.

Each site's manifest is kept beside the key store when it is read, a file for each. A search ranks them here, as an
index does; one with an ``index_url`` asks that index too (``merging`` makes one list of both), and names the sites to
it that this agent has met, so that others find them.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

from agentweb.client import crawling
from agentweb.client.addresses import LOOPBACK
from agentweb.client.calls import read_error
from agentweb.client.crawling import About
from agentweb.client.discovery import manifest_url
from agentweb.client.errors import KeyStoreError
from agentweb.client.files import make_private_folder, read_private, write_private
from agentweb.client.found import Found, FoundAction, Key, read_result
from agentweb.client.listing import Entry, entries_of
from agentweb.client.manifest import EFFECTS, WELL_KNOWN, Manifest, read_manifest
from agentweb.client.merging import at_most, merged
from agentweb.client.ranking import SCALE, rarity, scores
from agentweb.client.ranking import Collection as Postings
from agentweb.client.ranking_actions import action_query
from agentweb.client.texts import SURROGATE
from agentweb.client.transport import Transport
from agentweb.wire.errors import AgentError, ClientError, Code, InputError, MoneyError
from agentweb.wire.json_writing import dumps
from agentweb.wire.money import CURRENCIES, parse_amount
from agentweb.wire.strict_json import Json, loads

if TYPE_CHECKING:
    import httpx

MAX_SITES: Final = 200
"""Manifests kept on the disk; the one read longest ago goes first."""
PER_SITE: Final = 3
DEFAULT_LIMIT: Final = 10
MAX_LIMIT: Final = 50
FIND: Final = "/agent-index/find"
MANIFESTS: Final = "/agent-index/manifests"

_SECONDS: Final = 5.0
"""For one answer of an index, or of a site about itself."""
_ABOUT_SECONDS: Final = 5.0
"""For asking sites about themselves in one search."""
_ABOUT_AGE: Final = 7 * 86_400
_SUBMIT_AGE: Final = 86_400
_KEPT_AGE: Final = 3_600
"""Seconds for which a manifest that is still the same is not written again."""
_PAUSE: Final = 600
"""Seconds for which an index that did not answer is named no sites."""
_STALE: Final = 2 * 86_400
_MAX_FILE: Final = 4_000_000
_MAX_ANSWER: Final = 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What results must be beside; ``max_cost`` is in minor units of ``currency``, as in an index."""

    effect: str | None = None
    site: str | None = None
    currency: str | None = None
    max_cost: int | None = None

    def take(self, site: str, entry: Entry) -> bool:
        if self.effect not in {None, entry.effect} or self.site not in {None, site}:
            return False
        if self.max_cost is None:
            return self.currency in {None, entry.currency}
        is_within = entry.amount is None or entry.amount <= self.max_cost
        return entry.currency is None or (entry.currency == self.currency and is_within)


@dataclass(frozen=True, slots=True)
class _Met:
    """A site as it is kept: ``at`` when its manifest was read, ``about_at`` when it was asked about itself,
    ``submitted_at`` when it was named to an index; Unix seconds, 0 for never."""

    manifest: Manifest
    at: float
    about: About = field(default_factory=About)
    about_at: float = 0
    submitted_at: float = 0


class Finder:
    """Keeps what the agent meets in ``folder`` and searches it; ``index_url`` is the origin of an index, if any."""

    def __init__(
        self,
        folder: Path,
        *,
        http: httpx.Client | None = None,
        allowed: Collection[str] = (),
        clock: Callable[[], float],
        index_url: str | None = None,
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._allowed = frozenset(host.lower() for host in allowed)
        self._transport = Transport(http, allowed=allowed, seconds=_SECONDS)
        self._index = None if index_url is None else manifest_url(index_url).removesuffix(WELL_KNOWN)
        self._pause_until = 0.0
        self._known: dict[str, tuple[str, float]] = {}

    def saw(self, manifest: Manifest) -> None:
        """Keep a manifest that everybody may read, and name its site to the index. Never fails: what cannot be kept is
        not found later."""
        at = self._clock()
        digest, kept_at = self._known.get(manifest.site, ("", 0.0))
        if digest == manifest.digest and at < kept_at + _KEPT_AGE:
            return
        try:
            before = self._read(self._path(manifest.site))
            met = _Met(manifest, at)
            if before is not None:
                met = replace(before, manifest=manifest, at=met.at)
            self._write(self._submitted(met))
            self._known[manifest.site] = manifest.digest, at
            self._forget_oldest()
        except (OSError, AgentError):
            return

    def find(
        self,
        query: str,
        *,
        effect: str | None = None,
        site: str | None = None,
        currency: str | None = None,
        max_cost: str | int | None = None,
        limit: int = DEFAULT_LIMIT,
        per_site: int | None = None,
    ) -> Found:
        """See ``AgentClient.find_action``."""
        filters = _filters(query, effect, site, currency, max_cost, limit, per_site)
        most = per_site if per_site is not None else (MAX_LIMIT if site else PER_SITE)
        met = self._about_all(self._all())
        known = _known(met)
        fitting = _ranked(query, known, filters, self._clock())
        seen = at_most(fitting, most)
        if self._index is None:
            return Found(tuple(seen[:limit]))
        try:
            others = self._ask_index(query, filters, max_cost, limit, most)
        except AgentError as error:
            return Found(tuple(seen[:limit]), error)
        # What the index found is known here too, though it is not among the best here.
        wanted = {each.key for each in (*seen, *others)}
        seen = [each for each in fitting if each.key in wanted]
        terms = {key: entry.terms for key, (_site, entry) in known.items()}
        return Found(tuple(at_most(merged(query, seen, others, terms), most)[:limit]))

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _ask_index(
        self, query: str, filters: Filters, max_cost: str | int | None, limit: int, per_site: int
    ) -> list[FoundAction]:
        asked = {
            "q": query,
            "effect": filters.effect,
            "site": filters.site,
            "currency": filters.currency,
            "max_cost": None if max_cost is None else str(max_cost),
            "limit": limit,
            "per_site": min(per_site, MAX_LIMIT),
        }
        text = urlencode({name: value for name, value in asked.items() if value is not None})
        answer = self._transport.get(f"{self._index}{FIND}?{text}", headers={}, max_bytes=_MAX_ANSWER)
        refused = read_error(answer)
        if refused is not None:
            raise refused
        if answer.status != 200:
            raise ClientError(Code.RESPONSE_INVALID, f"The index answered {answer.status}.")
        try:
            body = loads(answer.body, max_bytes=_MAX_ANSWER)
        except AgentError as error:
            raise ClientError(Code.RESPONSE_INVALID, f"The index sent no JSON: {error.message}") from None
        listed = body.get("results") if isinstance(body, dict) else None
        if not isinstance(listed, list):
            raise ClientError(Code.RESPONSE_INVALID, "The index sent no results.")
        results = (found for each in listed[:MAX_LIMIT] if (found := read_result(each)) is not None)
        # A stranger does not send the agent to services of its own machine.
        return [each for each in results if self._may_be_named(each.manifest_url)]

    def _submitted(self, met: _Met) -> _Met:
        """Name the site to the index, if it is time to."""
        at = self._clock()
        if (
            self._index is None
            or met.at < at - _SUBMIT_AGE
            or met.submitted_at > at - _SUBMIT_AGE
            or at < self._pause_until
            or not self._may_be_named(met.manifest.url)
        ):
            return met
        body = dumps({"url": met.manifest.url.removesuffix(WELL_KNOWN)})
        headers = {"Content-Type": "application/json"}
        try:
            answer = self._transport.send(
                "POST", f"{self._index}{MANIFESTS}", headers=headers, body=body, max_bytes=_MAX_ANSWER
            )
        except AgentError:
            self._pause_until = at + _PAUSE
            return met
        if answer.status == 429 or answer.status >= 500:
            self._pause_until = at + _PAUSE
            return met
        # Taken, or refused for good: not asked again before tomorrow.
        return replace(met, submitted_at=at)

    def _may_be_named(self, url: str) -> bool:
        """Whether a site is everybody's business, to be named to the index or by it. One in the user's own network is
        not, unless the index is there."""
        parts, index = urlsplit(url), urlsplit(str(self._index))
        own = LOOPBACK | self._allowed
        host = (parts.hostname or "").lower()
        return host not in own if (index.hostname or "").lower() not in own else True

    def _about_all(self, met: list[_Met]) -> list[_Met]:
        """The sites with what they say of themselves, asking those that were not asked for a week, for a while."""
        end = time.monotonic() + _ABOUT_SECONDS
        found = []
        for each in met:
            if each.about_at < self._clock() - _ABOUT_AGE and time.monotonic() < end:
                said = crawling.fetch_about(self._transport, each.manifest.url)
                each = replace(each, about=said, about_at=self._clock())  # noqa: PLW2901 - the same site
                self._keep(each)
            found.append(each)
        return found

    def _all(self) -> list[_Met]:
        try:
            paths = sorted(self._folder.glob("*.json"))
        except OSError:
            return []
        found = (self._read(path) for path in paths)
        return sorted((each for each in found if each is not None), key=lambda each: each.manifest.site)

    def _path(self, site: str) -> Path:
        return self._folder / f"{hashlib.sha256(site.encode()).hexdigest()[:32]}.json"

    def _read(self, path: Path) -> _Met | None:
        """A kept site; None for a file that is none any more."""
        try:
            kept: Any = loads(read_private(path), max_bytes=_MAX_FILE)
            manifest = read_manifest(kept["manifest"], site=kept["site"], url=kept["url"])
            about = About(str(kept["about"]["name"]), str(kept["about"]["summary"]))
            times = [float(kept[name]) for name in ("at", "about_at", "submitted_at")]
        except (OSError, KeyStoreError, AgentError, LookupError, TypeError, ValueError):
            return None
        return _Met(manifest, times[0], about, times[1], times[2])

    def _keep(self, met: _Met) -> None:
        try:
            self._write(met)
        except OSError:
            return

    def _write(self, met: _Met) -> None:
        make_private_folder(self._folder)
        kept: Json = {
            "site": met.manifest.site,
            "url": met.manifest.url,
            "manifest": dict(met.manifest.document),
            "about": {"name": met.about.name, "summary": met.about.summary},
            "at": int(met.at),
            "about_at": int(met.about_at),
            "submitted_at": int(met.submitted_at),
        }
        write_private(self._path(met.manifest.site), dumps(kept), replace=True)

    def _forget_oldest(self) -> None:
        paths = list(self._folder.glob("*.json"))
        if len(paths) > MAX_SITES:
            for path in sorted(paths, key=lambda path: path.stat().st_mtime)[: len(paths) - MAX_SITES]:
                path.unlink(missing_ok=True)


def _filters(
    query: object,
    effect: str | None,
    site: str | None,
    currency: str | None,
    max_cost: str | int | None,
    limit: int,
    per_site: int | None,
) -> Filters:
    """Raises InputError for what cannot be asked."""
    problems: list[dict[str, Any]] = []

    def wrong(name: str, message: str) -> None:
        problems.append({"pointer": f"/{name}", "field": name, "code": "value", "message": message})

    if not isinstance(query, str) or not 0 < len(query.strip()) <= 500 or SURROGATE.search(query):
        wrong("query", "Say in a few words what is to be done.")
    if effect is not None and effect not in EFFECTS:
        wrong("effect", f"An effect is one of {', '.join(EFFECTS)}.")
    if site is not None and not isinstance(site, str):
        wrong("site", "A site is a text, host or host:port.")
    if currency is not None and (not isinstance(currency, str) or currency not in CURRENCIES):
        wrong("currency", "A currency is an active ISO 4217 code in upper case.")
    for name, number in (("limit", limit), ("per_site", 1 if per_site is None else per_site)):
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MAX_LIMIT:
            wrong(name, f"{name} is a whole number from 1 to {MAX_LIMIT}.")
    amount = None
    if max_cost is not None and currency is None:
        wrong("max_cost", "max_cost needs a currency.")
    elif max_cost is not None and not problems:
        try:
            amount = parse_amount(max_cost, str(currency))
        except MoneyError as error:
            wrong("max_cost", error.message)
    if problems:
        raise InputError(problems)
    return Filters(
        effect=effect, site=None if site is None else site.lower(), currency=currency, max_cost=amount
    )


def _known(met: Iterable[_Met]) -> dict[Key, tuple[_Met, Entry]]:
    return {
        (each.manifest.site, entry.name, entry.kind): (each, entry)
        for each in met
        for entry in entries_of(each.manifest, each.about)
    }


def _ranked(
    query: str, known: dict[Key, tuple[_Met, Entry]], filters: Filters, now: float
) -> list[FoundAction]:
    """What fits of these, best first; ties by site and name."""
    collection: Postings[Key] = Postings()
    for key, (_site, entry) in known.items():
        collection.add(key, entry.terms)
    weights = action_query(query)
    postings = collection.postings(weights, known.keys())
    having = Counter(term for term, _key, _impact in postings)
    rarities = {term: rarity(having[term], len(known)) for term in weights}
    found = scores(weights, rarities, postings)
    return [
        _result(*known[key], found[key], now)
        for key in sorted(found, key=lambda key: (-found[key], key))
        if filters.take(key[0], known[key][1])
    ]


def _result(met: _Met, entry: Entry, score: int, now: float) -> FoundAction:
    return FoundAction(
        kind=entry.kind,
        site=met.manifest.site,
        name=entry.name,
        description=entry.description,
        effect=entry.effect,
        scope=entry.scope,
        cost=entry.cost,
        score=round(score / SCALE, 4),
        manifest_url=met.manifest.url,
        fetched_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(met.at)),
        stale=met.at < now - _STALE,
    )
