"""What a search finds: an action or a flow of a site, as this agent knows it or as an index says it.

What an index answers is a stranger's word: it is checked, cut, and called by nobody but the caller.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from agentweb.client.discovery import manifest_url
from agentweb.client.listing import ACTION, FLOW, MAX_DESCRIPTION, shown
from agentweb.client.manifest import EFFECTS, WELL_KNOWN
from agentweb.wire.errors import AgentError, ClientError
from agentweb.wire.money import CURRENCIES
from agentweb.wire.strict_json import Json

Key = tuple[str, str, str]
"""Site, name and kind of what is found."""

_SITE: Final = re.compile(r"[a-z0-9.:\[\]_-]{1,262}")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,99}")
_SCOPE: Final = re.compile(r"[a-z0-9_.:-]{1,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAction:
    """An action (or a flow, by ``kind``) of a site. ``score`` is of the list in which it stands; ``sources`` are
    ``seen`` (this agent has met the site), ``index``, or both. ``fetched_at`` is RFC 3339. All texts are the site's."""

    kind: str
    site: str
    name: str
    description: str
    effect: str
    scope: str | None
    cost: dict[str, Any] | None
    score: float
    manifest_url: str
    fetched_at: str | None
    stale: bool
    sources: tuple[str, ...] = ("seen",)

    @property
    def key(self) -> Key:
        """What it is, whoever says it."""
        return self.site, self.name, self.kind

    @property
    def url(self) -> str:
        """The address by which ``call_action`` calls the site."""
        return self.manifest_url.removesuffix(WELL_KNOWN)

    def as_dict(self) -> dict[str, Any]:
        """As an index has it, and ``sources``."""
        return {
            "type": self.kind,
            "site": self.site,
            self.kind: self.name,
            "description": self.description,
            "effect": self.effect,
            "scope": self.scope,
            "cost": self.cost,
            "score": self.score,
            "manifest_url": self.manifest_url,
            "fetched_at": self.fetched_at,
            "stale": self.stale,
            "sources": list(self.sources),
        }


@dataclass(frozen=True, slots=True)
class Found:
    """What was found, best first; ``index_error`` says why the index did not help, None where it did or none was
    asked."""

    results: tuple[FoundAction, ...]
    index_error: AgentError | None = None


def read_result(value: Json) -> FoundAction | None:
    """A result of an index; None for what is none. Its texts are cut, and its site has to be the manifest's."""
    if not isinstance(value, dict):
        return None
    kind, site, said = value.get("type"), value.get("site"), value.get("description")
    name, url, score = value.get(str(kind)), value.get("manifest_url"), value.get("score")
    if (
        kind not in (ACTION, FLOW)
        or not isinstance(site, str)
        or not _SITE.fullmatch(site)
        or not isinstance(name, str)
        or not _NAME.fullmatch(name)
        or value.get("effect") not in EFFECTS
        or not isinstance(url, str)
    ):
        return None
    try:
        if manifest_url(url).partition("://")[2].partition("/")[0] != site:
            return None
    except ClientError:
        return None
    scope, fetched = value.get("scope"), value.get("fetched_at")
    return FoundAction(
        kind=str(kind),
        site=site,
        name=name,
        description=shown(said, MAX_DESCRIPTION) if isinstance(said, str) else "",
        effect=str(value["effect"]),
        scope=scope if isinstance(scope, str) and _SCOPE.fullmatch(scope) else None,
        cost=_read_cost(value.get("cost")),
        score=_read_score(score),
        manifest_url=manifest_url(url),
        fetched_at=shown(fetched, 40) if isinstance(fetched, str) else None,
        stale=value.get("stale") is not False,
        sources=("index",),
    )


def _read_score(value: object) -> float:
    """A finite number, 0 for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return 0.0
    try:
        score = float(value)
    except OverflowError:
        return 0.0
    return score if math.isfinite(score) else 0.0


def _read_cost(value: Json) -> dict[str, Any] | None:
    if not isinstance(value, dict) or not isinstance(value.get("currency"), str):
        return None
    if value["currency"] not in CURRENCIES:
        return None
    members = {name: value[name] for name in ("amount", "field") if isinstance(value.get(name), str)}
    return {"currency": value["currency"], **{name: shown(str(text), 100) for name, text in members.items()}}
