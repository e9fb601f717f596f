"""The story's third part: an agent that asks Ada for its grant, bargains, pays at the test provider, and is paid back.

Ada uses the site with a browser, as in the second part. What the provider did is read from its own books.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from agentweb.client.agent import AgentClient
from agentweb.client.approvals.policy import ApprovalPolicy
from agentweb.client.grant_requests import GrantRequest
from agentweb.client.keystore import KeyStore
from agentweb.client.negotiating import Negotiation
from demo_project.running import LOOPBACK
from demo_project.shop.payments import NO_MONEY, TestPayments
from demo_project.staging import renew_password
from demo_project.story.browser import Browser
from demo_project.story.chapters import attempt, held_back, play
from demo_project.story.narrator import Narrator, shown

ADA: Final = "ada"
CARD: Final = "card-stock-a4"
SEEDS: Final = "basil-seeds"
QUANTITY: Final = 6
REASON: Final = "To buy card for the invitations."
ASKED: Final = ("checkout", "orders:*")
MONEY: Final = "USD:100.00/300.00"
GIVEN: Final = {"scopes": "checkout", "spends": "1", "per_tx": "80.00", "total": "90.00"}
"""What Ada ticks and writes: less of everything."""
OFFERS: Final = ("60.00", "63.00")
TORN: Final = "11.50"


class Bargaining:
    """One telling, against the site at ``origin``. The agent keeps its new key in ``folder``."""

    def __init__(self, origin: str, narrator: Narrator, folder: Path) -> None:
        self.origin = origin
        self.tell = narrator
        # Of what it may do Ada decides at the site here; nobody is asked a second time.
        self.agent = AgentClient(
            KeyStore(folder / "asking.json"), approval=ApprovalPolicy.never_ask(), allow_hosts=[LOOPBACK]
        )
        self.ada = Browser(origin)
        self.provider = TestPayments()

    def play(self) -> None:
        """All chapters in order. Raises UnexpectedError at the first step that goes otherwise."""
        self.tell.title("\nAnd an agent that asks, bargains, pays and gets money back")
        with self.agent, self.ada.http:
            play(
                (
                    self.it_asks_for_too_much_and_takes_it_back,
                    self.it_asks_ada,
                    self.ada_gives_less,
                    self.it_bargains,
                    self.it_buys_at_the_agreed_price,
                    self.a_part_is_paid_back,
                    self.ada_ends_the_grant,
                )
            )

    def it_asks_for_too_much_and_takes_it_back(self) -> None:
        self.tell.step("An agent without a grant asks for one, for too much; it takes that back")
        hasty = self._ask("USD:1000.00/9000.00")
        self.tell.site(f"202, {hasty.id} waits, code {hasty.user_code}")
        self.tell.agent(f"DELETE /agent-actions/grants/requests/{hasty.id}")
        attempt("to take it back", lambda: self.agent.take_back_request(self.origin, hasty.id))
        self.ada.log_in(ADA, renew_password(ADA))
        answer = self.ada.http.get(hasty.approve_url)
        self.tell.expect("what Ada finds at that address", 404, answer.status_code)

    def it_asks_ada(self) -> None:
        self.tell.step("It asks again, for what it needs")
        self.asked = self._ask(MONEY)
        self.tell.site(f"202, to be decided at {self.asked.approve_url}")
        self.tell.expect("what it may do by now", [], self.agent.grants())

    def ada_gives_less(self) -> None:
        self.tell.step("Ada reads in her browser what it asks for, and gives less")
        page = self.ada.open(self.asked.approve_url)
        shows = all(word in page for word in (REASON, self.asked.user_code, self.agent.public_key))
        self.tell.expect("the page has its reason, its code and its key", True, shows)
        page = self.ada.press("Approve", GIVEN)
        self.tell.person(
            f"You may pay {GIVEN['per_tx']} at once and {GIVEN['total']} in all, and nothing else."
        )
        brought = self._ask(MONEY)
        self.tell.expect("the same request now brings the grant", True, brought.grant is not None)
        [self.grant] = self.agent.grants()
        self.tell.expect("scopes", "checkout", " ".join(self.grant["scopes"]))
        self.tell.expect("most in all", GIVEN["total"], self.grant["mandate"]["total"])

    def it_bargains(self) -> None:
        self.tell.step(f"It bargains about {QUANTITY} packs of card")
        self.terms = {"product_id": CARD, "quantity": QUANTITY}
        found = self._call("product_detail", {"product_id": CARD})
        self.list_price = Decimal(str(found["price"])) * QUANTITY
        self.tell.site(f"list price {self.list_price} USD")
        first, second = OFFERS
        self.tell.agent(f"POST /agent-actions/negotiations {shown(self.terms)}, {first} USD")
        talk = self._said(lambda: self.agent.negotiate(self.origin, self.terms, first, "USD"))
        if talk.agreement is None:
            self.tell.agent(f"{second} USD")
            talk = self._said(lambda: talk.counter(second))
        if talk.agreement is None:
            self.tell.agent("accepts")
            talk = self._said(talk.accept)
        self.tell.expect("how it ended", "accepted", talk.state)
        self.agreement = dict(talk.agreement or {})
        self.agreed = Decimal(self.agreement["price"])
        self.tell.expect("it is below the list price", True, self.agreed < self.list_price)

    def it_buys_at_the_agreed_price(self) -> None:
        self.tell.step("It buys at that price, and pays at the shop's provider")
        self.order = self._call("buy_in_bulk", {**self.terms, "price": self.agreed})
        self.tell.site(f"{self.order['order_id']} is {self.order['state']}, receipt {self.order['receipt']}")
        [receipt] = attempt("receipts", lambda: self.agent.receipts(self.origin))
        self.tell.expect("charged", str(self.agreed), receipt["amount"])
        self.tell.expect("the agreement that it used up", self.agreement["id"], receipt["agreement"])
        [booked] = self._booked()
        self.tell.says(
            "provider", f"{booked['id']}: {booked['amount']} cents {booked['state']}", style="blue"
        )
        self.tell.says("", f"({NO_MONEY})", style="bold")
        self.tell.expect("in the provider's books", int(self.agreed * 100), booked["amount"])

    def a_part_is_paid_back(self) -> None:
        self.tell.step("One pack is torn; the shop's policy gives a part back at once")
        self.tell.agent(f"POST /agent-actions/refunds {TORN} of {self.order['receipt']}")
        refund = attempt(
            "the refund",
            lambda: self.agent.refund(
                self.origin, self.order["receipt"], TORN, reason="One pack arrived torn."
            ),
        )
        self.tell.site(f"refund {refund.id} is {refund.state}")
        self.tell.expect("it is", "done", refund.state)
        receipts = attempt("receipts", lambda: self.agent.receipts(self.origin))
        kinds = [(each["kind"], each["amount"]) for each in receipts]
        self.tell.expect("its receipts", [("charge", str(self.agreed)), ("refund", TORN)], kinds)
        [grant] = self.agent.grants()
        left = Decimal(GIVEN["total"]) - self.agreed + Decimal(TORN)
        self.tell.expect("left of what Ada gave", str(left), grant["mandate"]["remaining"])
        given = [
            each["amount"] for each in self.provider.refunds() if each["charge"] == self.order["receipt"]
        ]
        self.tell.expect("given back, in the provider's books", [int(Decimal(TORN) * 100)], given)

    def ada_ends_the_grant(self) -> None:
        self.tell.step("Ada ends the grant in her browser")
        self.ada.open("/agent-access/")
        self.ada.press("End now", of=self.grant["id"])
        self.tell.person("The invitations are out, thank you.")
        wanted = {"product_id": SEEDS, "quantity": QUANTITY, "price": Decimal("20.00")}
        error = held_back(lambda: self.agent.call_action(self.origin, "buy_in_bulk", wanted))
        self.tell.site(f"{error.code}: {error.message}")
        self.tell.expect("answer, from the next call on", "grant_revoked", error.code)

    # What the chapters share

    def _ask(self, money: str) -> GrantRequest:
        self.tell.agent(f"POST /agent-actions/grants {', '.join(ASKED)}; {money}; {REASON!r}")
        asked: GrantRequest = attempt(
            "a request for a grant",
            lambda: self.agent.request_grant(self.origin, ASKED, mandate=money, reason=REASON),
        )
        return asked

    def _said(self, say: Any) -> Negotiation:
        talk: Negotiation = attempt("the offer", say)
        if talk.agreement is None and talk.offer is not None:
            self.tell.site(f"round {talk.round}: {talk.offer['price']} USD")
        else:
            self.tell.site(f"round {talk.round}: {talk.state}")
        return talk

    def _call(self, action: str, value: dict[str, Any]) -> Any:
        self.tell.agent(f"{action} {shown(value)}")
        return attempt(action, lambda: self.agent.call_action(self.origin, action, value)).value

    def _booked(self) -> list[dict[str, Any]]:
        return [each for each in self.provider.charges() if each["id"] == self.order["receipt"]]
