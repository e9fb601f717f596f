"""Asking a person for a grant through their site: a code, a page where they decide, and the grant once they did.

A request is kept beside the key store until it is decided or taken back, so that the same request asks how it stands.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from agentweb.client.authority import read_mandate
from agentweb.client.endpoints import Endpoints
from agentweb.client.errors import KeyStoreError, SiteError
from agentweb.client.files import make_private_folder, read_private, write_private
from agentweb.client.manifest import Manifest
from agentweb.wire.canonical import canonicalize
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.money import format_amount
from agentweb.wire.strict_json import Json, dumps, loads

# Answers after which the same request is a new one.
_OVER: Final = frozenset({Code.NOT_FOUND, Code.APPROVAL_DENIED, "request_expired"})
_MAX_BYTES: Final = 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRequest:
    """A request that waits for the person: they open ``approve_url`` and see ``user_code`` there.

    ``grant`` is what they gave, as ``add_grant`` takes it; None while they have not decided.
    """

    id: str
    user_code: str
    approve_url: str
    retry_after: int
    grant: Any = None

    def as_dict(self) -> dict[str, Any]:
        """For people and programs, without the grant."""
        return {
            "request_id": self.id,
            "user_code": self.user_code,
            "approve_url": self.approve_url,
            "retry_after": self.retry_after,
        }


def body_of(scopes: Sequence[str], mandate: str | None, expires_in: int, reason: str) -> dict[str, Json]:
    """What is asked for. Raises ClientError ``invalid_input`` for a mandate that is none."""
    body: dict[str, Json] = {"scopes": list(scopes), "expires_in": expires_in, "reason": reason}
    if mandate is not None:
        try:
            limits = read_mandate(mandate)
        except (AgentError, ValueError) as error:
            raise ClientError(Code.INVALID_INPUT, f"The mandate: {error}", field="mandate") from None
        body["mandate"] = {
            "currency": limits.currency,
            "per_tx": format_amount(limits.per_tx, limits.currency),
            "total": format_amount(limits.total, limits.currency),
        }
    return body


class GrantRequests:
    """The folder of requests that were not decided yet."""

    def __init__(self, folder: Path, endpoints: Endpoints) -> None:
        self._folder = folder
        self._endpoints = endpoints

    def ask(self, manifest: Manifest, body: dict[str, Json]) -> GrantRequest:
        """How the request of this body stands; it is made when there is none.

        Raises SiteError ``approval_denied`` when the person said no, and for what else the site refuses.
        """
        path = self._folder / f"{hashlib.sha256(canonicalize([manifest.site, body])).hexdigest()}.json"
        known = _read(path)
        if known is None:
            address = self._endpoints.address(manifest, "grants")
            asked = _parse(self._endpoints.post(manifest, address, body).value, manifest)
            make_private_folder(self._folder)
            kept = {"version": 1, "site": manifest.site, **asked.as_dict()}
            write_private(path, dumps(kept), replace=True)
            return asked
        try:
            found = _parse(
                self._endpoints.get(manifest, self._address(manifest, known.id)).value, manifest, known
            )
        except SiteError as error:
            if error.code in _OVER:
                path.unlink(missing_ok=True)
            raise
        if found.grant is not None:
            path.unlink(missing_ok=True)
        return found

    def take_back(self, manifest: Manifest, ident: str) -> None:
        """Nobody is asked any more, and the same request is a new one. Done again, it is done.

        Raises SiteError ``conflict`` when the person was faster: the request is kept then, and brings the grant.
        Also ``not_found`` and ``approval_denied``.
        """
        try:
            self._endpoints.delete(manifest, self._address(manifest, ident))
        except SiteError as error:
            if error.code in _OVER:
                self._forget(manifest.site, ident)
            raise
        self._forget(manifest.site, ident)

    def _address(self, manifest: Manifest, ident: str) -> str:
        return self._endpoints.address(manifest, "grants", "requests", quote(ident, safe=""))

    def _forget(self, site: str, ident: str) -> None:
        # The name of a file says what was asked for, which whoever has only the id does not know.
        for path in self._folder.glob("*.json"):
            try:
                kept = _load(path)
            except (FileNotFoundError, KeyStoreError):
                continue  # It is said of a damaged one when it is asked about.
            # Another site may have given the same id.
            if (kept["site"], kept["request_id"]) == (site, ident):
                path.unlink(missing_ok=True)


def _parse(value: Json, manifest: Manifest, known: GrantRequest | None = None) -> GrantRequest:
    if not isinstance(value, dict):
        raise ClientError(Code.RESPONSE_INVALID, f"{manifest.site} answered no grant request.")
    # The whole chain, where there is more of it than the grant itself.
    given = value.get("header") or value.get("grant")
    ident = value.get("request_id", known.id if known else None)
    code = value.get("user_code", known.user_code if known else "")
    page = value.get("approve_url", known.approve_url if known else "")
    wait = value.get("retry_after", known.retry_after if known else 5)
    if not isinstance(ident, str) or not isinstance(code, str) or not isinstance(page, str):
        raise ClientError(Code.RESPONSE_INVALID, f"{manifest.site} answered no grant request.")
    return GrantRequest(
        id=ident,
        user_code=code,
        approve_url=page,
        retry_after=wait if isinstance(wait, int) and not isinstance(wait, bool) and 0 < wait <= 3_600 else 5,
        grant=given,
    )


def _read(path: Path) -> GrantRequest | None:
    try:
        kept = _load(path)
    except FileNotFoundError:
        return None
    return GrantRequest(
        id=kept["request_id"],
        user_code=kept["user_code"],
        approve_url=kept["approve_url"],
        retry_after=kept["retry_after"],
    )


def _load(path: Path) -> dict[str, Any]:
    """What ``ask`` wrote. Raises FileNotFoundError, KeyStoreError."""
    try:
        content: Any = loads(read_private(path), max_bytes=_MAX_BYTES)
        texts = {name: str(content[name]) for name in ("site", "request_id", "user_code", "approve_url")}
        return {**texts, "retry_after": int(content["retry_after"])}
    except FileNotFoundError:
        raise
    except (AgentError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, KeyStoreError):
            raise
        raise KeyStoreError("keystore_invalid", f"{path} is not a request for a grant.") from error
