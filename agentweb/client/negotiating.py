"""Negotiating a price: offer, counter, accept, reject; an agreement is verified before it is believed.

Signed under the grant that is to pay, because an agreement holds for the key under the same root grant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from agentweb.client.endpoints import Endpoints
from agentweb.client.errors import SiteError
from agentweb.client.grant_texts import Chain
from agentweb.client.manifest import Manifest
from agentweb.client.session import Session
from agentweb.wire.agreements import verify_agreement
from agentweb.wire.errors import ClientError, Code
from agentweb.wire.money import format_amount, parse_amount
from agentweb.wire.strict_json import Json, dumps

Amount = str | int | Decimal


@dataclass(frozen=True, slots=True)
class Negotiation:
    """How a negotiation stands. ``agreement`` is the site's signed word, once there is one."""

    id: str
    state: str
    round: int
    offer: Mapping[str, Any] | None
    agreement: Mapping[str, Any] | None
    value: Json
    _table: Table = field(repr=False, compare=False)

    def counter(self, price: Amount) -> Negotiation:
        """Offer another price."""
        return self._table.say(self.id, {"offer": self._table.written(price)})

    def accept(self, round: int | None = None) -> Negotiation:
        """Take the site's offer of this round, or of the one that was last seen; a later one is not taken unseen."""
        return self._table.say(self.id, {"accept": self.round if round is None else round})

    def reject(self) -> Negotiation:
        """Leave it."""
        return self._table.say(self.id, {"reject": True})

    def refresh(self) -> Negotiation:
        """How it stands now."""
        return self._table.look(self.id)

    def json(self) -> str:
        """The site's answer as JSON text."""
        return dumps(self.value).decode("utf-8")


@dataclass(frozen=True, slots=True)
class Table:
    """Where one currency is negotiated about at one site, under one grant."""

    endpoints: Endpoints
    manifest: Manifest
    currency: str
    chain: Chain

    def written(self, price: Amount) -> str:
        """The price as it travels. Raises ``amount_invalid``."""
        return format_amount(parse_amount(price, self.currency), self.currency)

    def open(self, terms: Mapping[str, Any], price: Amount, note: str) -> Negotiation:
        """Make the first offer."""
        body: dict[str, Json] = {
            "terms": dict(terms),
            "price": self.written(price),
            "currency": self.currency,
        }
        if note:
            body["note"] = note
        return self._post(body)

    def say(self, ident: str, body: Json) -> Negotiation:
        """Answer the site in a negotiation."""
        return self._post(body, quote(ident, safe=""))

    def look(self, ident: str) -> Negotiation:
        """How a negotiation stands."""
        address = self.endpoints.address(self.manifest, "negotiation", quote(ident, safe=""))
        return self._read(self.endpoints.get(self.manifest, address, chain=self.chain).value)

    def _post(self, body: Json, *parts: str) -> Negotiation:
        address = self.endpoints.address(self.manifest, "negotiation", *parts)
        # Without a key: the site answers what is sent again as before.
        return self._read(self.endpoints.post(self.manifest, address, body, chain=self.chain).value)

    def _read(self, value: Json) -> Negotiation:
        if not isinstance(value, dict) or not isinstance(value.get("id"), str):
            raise _malformed("has no id")
        state, round_, offer = value.get("state"), value.get("round"), value.get("offer")
        if not isinstance(state, str) or isinstance(round_, bool) or not isinstance(round_, int):
            raise _malformed("does not say how it stands")
        agreement = value.get("agreement")
        if agreement is not None:
            self._check(agreement)
        return Negotiation(
            id=str(value["id"]),
            state=state,
            round=round_,
            offer=offer if isinstance(offer, dict) else None,
            agreement=agreement if isinstance(agreement, dict) else None,
            value=value,
            _table=self,
        )

    def _check(self, agreement: Json) -> None:
        reason = verify_agreement(agreement, self.manifest.keys)
        if reason is None and isinstance(agreement, dict):
            buyer = agreement["buyer"]
            if agreement["site"] != self.manifest.site:
                reason = "site"
            elif not isinstance(buyer, dict) or (buyer["agent"], buyer["root"]) != (
                self.chain[-1].subject,
                self.chain[0].id,
            ):
                reason = "buyer"
        if reason is not None:
            raise ClientError(
                Code.RESPONSE_INVALID, f"The site's agreement does not hold ({reason}).", reason=reason
            )


class Tables:
    """Chooses the grant to negotiate under."""

    def __init__(self, session: Session, endpoints: Endpoints) -> None:
        self._session = session
        self._endpoints = endpoints

    def paying(self, url: str, currency: str, price: Amount) -> Table:
        """Under the narrowest grant that could pay the price, else the narrowest. Raises ``grant_required``."""
        manifest = self._session.discovery.load(url)
        amount = parse_amount(price, currency, field="price")
        need = self._session.need(manifest.site, spends=True, currency=currency, amount=amount)
        chain = self._session.narrowest(need) or self._session.any_grant(manifest.site)
        if chain is None:
            raise _no_grant(manifest.site)
        return Table(self._endpoints, manifest, currency, chain)

    def find(self, url: str, ident: str, currency: str) -> Negotiation:
        """One that was begun, and under which grant is not known: those that can pay are tried first."""
        manifest = self._session.discovery.load(url)
        paying = self._session.need(manifest.site, spends=True, currency=currency)
        refused: SiteError | None = None
        tried: set[str] = set()
        for need in (paying, self._session.need(manifest.site)):
            for chain in self._session.candidates(need):
                # To the site the buyer is the key under a root grant, whatever was handed on below that.
                if chain[0].id in tried:
                    continue
                tried.add(chain[0].id)
                try:
                    return Table(self._endpoints, manifest, currency, chain).look(ident)
                except SiteError as error:
                    if error.code != Code.NOT_FOUND:
                        raise
                    refused = refused or error
        raise refused or _no_grant(manifest.site)


def _no_grant(site: str) -> ClientError:
    return ClientError(
        Code.GRANT_REQUIRED, f"There is no grant for {site} that is valid now; ask for one.", site=site
    )


def _malformed(what: str) -> ClientError:
    return ClientError(Code.RESPONSE_INVALID, f"The site's answer {what}.", reason="malformed")
