"""Reading the agent's receipts from a site, each verified before anything is made of it."""

from __future__ import annotations

from typing import Any, Final, Protocol
from urllib.parse import urlencode

from agentweb.client.manifest import Manifest
from agentweb.wire.errors import ClientError, Code
from agentweb.wire.receipts import verify_head, verify_receipt
from agentweb.wire.strict_json import Json

MAX_PAGES: Final = 1_000
PAGE: Final = 100


class Get(Protocol):
    """Reads JSON from an address of the site, signed with the agent's key or not."""

    def __call__(self, address: str, *, signed: bool) -> Json: ...


def read_all(manifest: Manifest, get: Get) -> list[dict[str, Any]]:
    """Every receipt of the agent at the site, in the order of their numbers.

    Raises ClientError ``response_invalid`` with the ``reason`` why a receipt or the list does not hold.
    """
    found: list[dict[str, Any]] = []
    last, after = 0, "0"
    for _ in range(MAX_PAGES):
        page = get(f"{_endpoint(manifest)}?{urlencode({'after': after, 'limit': PAGE})}", signed=True)
        items = page.get("items") if isinstance(page, dict) else None
        if not isinstance(page, dict) or not isinstance(items, list):
            raise _refused("The list of receipts", "malformed")
        if len(items) > PAGE:
            # More than was asked for has no end.
            raise _refused("The list of receipts", "malformed")
        for item in items:
            receipt = _verified(item, manifest)
            if receipt["seq"] <= last:
                raise _refused("The order of the receipts", "order")
            last = receipt["seq"]
            found.append(receipt)
        following = page.get("next_cursor")
        if following is None:
            return found
        if not items or not isinstance(following, str) or following == after:
            raise _refused("The list of receipts", "malformed")
        after = following
    raise _refused("The list of receipts", "endless")


def read_head(manifest: Manifest, get: Get) -> dict[str, Any]:
    """The site's signed head now. Ask for it after the receipts, so that it covers them all."""
    head = get(f"{_endpoint(manifest)}/head", signed=False)
    reason = verify_head(head, manifest.keys)
    if reason is not None or not isinstance(head, dict):
        raise _refused("The head of the receipts", reason or "malformed")
    if head["site"] != manifest.site:
        raise _refused("The head of the receipts", "site")
    return head


def _endpoint(manifest: Manifest) -> str:
    endpoint = manifest.endpoint("receipts")
    if endpoint is None:
        raise ClientError(Code.NOT_FOUND, f"{manifest.site} does not say where its receipts are.")
    return endpoint.rstrip("/")


def _verified(item: Json, manifest: Manifest) -> dict[str, Any]:
    reason = verify_receipt(item, manifest.keys)
    if reason is not None or not isinstance(item, dict):
        raise _refused("A receipt", reason or "malformed")
    receipt: dict[str, Any] = item
    if receipt["site"] != manifest.site:
        raise _refused("A receipt", "site")
    return receipt


def _refused(what: str, reason: str) -> ClientError:
    return ClientError(Code.RESPONSE_INVALID, f"{what} of the site does not hold ({reason}).", reason=reason)
