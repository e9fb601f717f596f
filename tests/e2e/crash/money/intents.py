"""What buyers mean: each intent is written down as a line, with all that the oracle has to know of it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Final

from agentweb.wire import clock
from agentweb.wire.encoding import random_id
from agentweb.wire.grants import GrantDocument, Mandate, encode_chain, new_grant, parse_grant
from agentweb.wire.money import parse_amount
from agentweb.wire.signing import SigningKey
from tests.e2e.crash.journal import Line
from tests.e2e.crash.money.speaker import SITE

LEDGER: Final = "ledger"
PROVIDER: Final = "provider"
MODES: Final = (LEDGER, PROVIDER)

SCOPES: Final = ["shop:*"]
MOST: Final = 1_000_000_000
"""Minor units, more than anybody spends; of a tight grant it is ``TIGHT``."""
PER_TX: Final = 100_00
TIGHT: Final = 300_00
LIVES_SECONDS: Final = 86_400
NEGOTIATIONS: Final = "/agent-actions/negotiations"
UNPAID: Final = frozenset({"accept", "bargain", "negotiate", "refund"})
"""Intents that pay nothing."""

REFUNDED: Final = ("lose-refund", "late-refund", "refuse-refund")
GOOD: Final = ("tea", "tea", "tea", "tea", "lost", "late", "lose-refund", "late-refund")
"""Items, by what the provider does; without one it makes no difference."""


@dataclass(frozen=True)
class Purse:
    """A grant as it is sent, ``ids`` of its chain, the agent's own first."""

    header: str
    ids: tuple[str, ...]


def purse_of(chain: list[dict[str, Any]]) -> Purse:
    parsed: list[GrantDocument] = [parse_grant(document) for document in chain]
    return Purse(encode_chain(chain), tuple(each.id for each in reversed(parsed)))


def given(
    person: SigningKey, agent: SigningKey, *, total: int = MOST, one_time: bool = False, delegate: int = 0
) -> list[dict[str, Any]]:
    """A grant that the person gives the agent, without asking the site."""
    now = int(clock.now())
    return [
        new_grant(
            issuer=person,
            subject=agent.public,
            audience=SITE,
            scopes=SCOPES,
            mandate=Mandate(currency="USD", per_tx=min(PER_TX, total), total=total),
            not_before=now - 60,
            expires=now + LIVES_SECONDS,
            one_time=one_time,
            delegate=delegate,
        )
    ]


class Composer:
    """Composes the lines: what is sent, how much it costs, of how many charges (``charges``), and with which refusals
    it may end (``may``)."""

    def __init__(self, source: random.Random) -> None:
        self.random = source

    def line(self, what: str, target: str, body: Any, purse: Purse, mode: str, **more: Any) -> Line:
        return {
            "is": "intent",
            "id": random_id("k_"),
            "what": what,
            "target": target,
            "body": body,
            "mode": mode,
            "grant": purse.header,
            "grants": list(purse.ids),
            "charges": 0,
            "price": 0,
            "may": [],
            "gives_up": False,
            **more,
        }

    def buy(self, action: str, word: str, purse: Purse, mode: str, *may: str, **more: Any) -> Line:
        price = self._price()
        charges = {"buy_and_refuse": 0, "buy_in_halves": 2}.get(action, 1)
        if word == "decline" and mode == PROVIDER:
            charges, may = 0, ("payment_declined",)
        if action == "buy_and_refuse":
            may = (*may, "closed")
        return self.line(
            action,
            f"/agent/{action}",
            {"item": f"{word} {random_id('')}", "price": _text(price)},
            purse,
            mode,
            charges=charges,
            price=price,
            may=list(may),
            **more,
        )

    def bargain(self, purse: Purse, mode: str) -> Line:
        product = f"{self.random.choice(GOOD)} {random_id('')}"
        body = {"product_id": product, "price": _text(self._price())}
        return self.line("bargain", "/agent/bargain", body, purse, mode, product=product)

    def negotiate(self, purse: Purse, mode: str) -> Line:
        """An offer, which the site may answer with another price."""
        product = f"{self.random.choice(GOOD)} {random_id('')}"
        body = {"terms": {"product_id": product}, "price": _text(self._price()), "currency": "USD"}
        return self.line("negotiate", NEGOTIATIONS, body, purse, mode, product=product, may=["conflict"])

    def accept(self, begun: Line, negotiation: dict[str, Any], mode: str) -> Line:
        """Of several who accept at once one does; what is not accepted in time is closed."""
        return self.line(
            "accept",
            f"{NEGOTIATIONS}/{negotiation['id']}",
            {"accept": negotiation["round"]},
            Purse(begun["grant"], tuple(begun["grants"])),
            mode,
            product=begun["product"],
            may=["negotiation_closed", "negotiation_changed"],
        )

    def by_agreement(self, bargained: Line, answer: dict[str, Any], mode: str, *may: str) -> Line:
        product = bargained["product"]
        body = {"product_id": product, "price": answer["price"], "agreement": answer["agreement"]}
        if self.random.random() < 0.5:
            del body["agreement"]
            may = (*may, "not_agreed") if may else may
        return self.line(
            "buy_agreed",
            "/agent/buy_agreed",
            body,
            Purse(bargained["grant"], tuple(bargained["grants"])),
            mode,
            charges=1,
            price=parse_amount(answer["price"], "USD"),
            agreement=answer["agreement"],
            may=list(may),
        )

    def deal(self, purse: Purse, mode: str) -> Line:
        price = self._price()
        body = {"input": {"product_id": f"{self.random.choice(GOOD)} {random_id('')}", "price": _text(price)}}
        return self.line("deal", "/agent-actions/flows/deal", body, purse, mode, charges=1, price=price)

    def refund(self, bought: Line, receipt: str, mode: str) -> Line:
        """Of a part or all of a charge; others may ask for the rest of it at the same time."""
        amount = bought["price"] // bought["charges"]
        ident = random_id("k_")
        reason = f"{'staff:' if self.random.random() < 0.1 else ''}{ident}"
        body: dict[str, Any] = {"receipt": receipt, "reason": reason}
        if self.random.random() < 0.7:
            body["amount"] = _text(max(1, round(amount * self.random.choice([0.3, 0.6, 0.6, 1]))))
        may = ["refund_exceeds_charge", "conflict"]
        if "refuse-refund" in str(bought["body"]):
            may.append("payment_declined")
        purse = Purse(bought["grant"], tuple(bought["grants"]))
        return self.line("refund", "/agent-actions/refunds", body, purse, mode, may=may) | {"id": ident}

    def _price(self) -> int:
        """Even, also in halves; its cents mean nothing to the provider."""
        return self.random.randint(1, 90) * 100 + 2 * self.random.randint(10, 49)


def _text(minor: int) -> str:
    return f"{minor // 100}.{minor % 100:02}"
