"""The story, chapter by chapter. Everything the agent does goes over HTTP; every chapter says what must come of it.

Two people never meet: Ada, who lets an agent shop for her, and whoever runs the shop. What Ada does on the site
(later on pages of her own) is done here by calling the library; how much of a product is on the shelf is read from
the shop's own books, so that the agent's word is not what is believed.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from agentweb.access import grants
from agentweb.access.models import Mandate as MandateRow
from agentweb.client.agent import AgentClient
from agentweb.client.approvals.policy import ApprovalPolicy
from agentweb.client.approvals.records import Approval
from agentweb.client.keystore import KeyStore
from agentweb.wire.clock import now
from agentweb.wire.encoding import random_id
from agentweb.wire.grants import Mandate
from agentweb.wire.http_signature import sign_request
from agentweb.wire.money import format_amount
from agentweb.wire.receipts import verify_receipt
from agentweb.wire.signing import SigningKey
from agentweb.wire.strict_json import dumps
from demo_project.running import LOOPBACK
from demo_project.shop.models import Order, Product
from demo_project.staging import person
from demo_project.story.chapters import answered, attempt, held_back, play, refused
from demo_project.story.narrator import Narrator, shown

PAPER: Final = "copy-paper-a4-recycled"
FEEDER: Final = "bird-feeder-oak"
WANTED: Final = "recycled printer paper"
QUANTITY: Final = 2
LIMIT: Final = Mandate(currency="USD", per_tx=5000, total=6000)
SCOPES: Final = ("cart:*", "checkout", "orders:read")
A_DAY: Final = 86_400


class Story:
    """One telling, against the site at ``origin``. The agent keeps its new key in ``folder``."""

    def __init__(self, origin: str, narrator: Narrator, folder: Path) -> None:
        self.origin = origin
        self.site = urlsplit(origin).netloc
        self.tell = narrator
        self.key = SigningKey.generate()
        self.agent = AgentClient(
            KeyStore(folder / "agent.json", key=self.key),
            approval=ApprovalPolicy(approver=self._ada_is_asked),
            allow_hosts=[LOOPBACK],
        )
        self.http = httpx.Client(base_url=origin, trust_env=False, timeout=30)

    def play(self) -> None:
        """All chapters in order. Raises UnexpectedError at the first step that goes otherwise."""
        chapters = (
            self.the_agent_looks_around,
            self.the_agent_searches,
            self.a_careless_call_is_explained,
            self.a_stranger_fills_no_cart,
            self.ada_sets_the_limits,
            self.the_cart_is_filled,
            self.the_cart_is_paid,
            self.the_receipt_is_checked,
            self.a_lost_answer_is_asked_for_again,
            self.a_copied_request_is_worthless,
            self.one_more_by_the_shops_flow,
            self.too_much_is_refused,
            self.the_books_are_right,
            self.ada_changes_her_mind,
        )
        with self.http, self.agent:
            play(chapters)

    def the_agent_looks_around(self) -> None:
        self.tell.step("The agent asks what can be done here")
        self.tell.agent("GET /.well-known/agent-actions.json")
        manifest = answered(self.http.get("/.well-known/agent-actions.json"))
        actions = {action["name"]: action for action in manifest["actions"]}
        self.tell.site(f"200, {len(actions)} actions: {', '.join(sorted(actions))}")
        self.tell.expect("version of the manifest", "agent-actions/0.1", manifest["version"])
        self.tell.expect("the site it speaks for", self.site, manifest["site"])
        checkout = actions.get("checkout", {})
        self.tell.expect("effect of checkout", "spend", checkout.get("effect"))
        self.tell.expect("the input that says the cost", "price", checkout.get("cost", {}).get("field"))
        self.flows = {flow["name"]: flow for flow in manifest["flows"]}
        self.tell.expect("a flow that buys", "buy_product", ", ".join(self.flows))
        self.site_keys = manifest["keys"]

    def the_agent_searches(self) -> None:
        self.tell.step("It looks for printer paper; reading needs no permission")
        found = self._call("search_products", {"query": WANTED, "limit": 3})
        for item in found["items"]:
            self.tell.site(f"{item['id']}: {item['name']}, {_money(item)}, {item['in_stock']} in stock")
        self.tell.expect("best match", PAPER, found["items"][0]["id"])
        self.price = Decimal(str(found["items"][0]["price"]))
        self.shelf_before = _on_the_shelf(PAPER)

    def a_careless_call_is_explained(self) -> None:
        self.tell.step("A careless call is refused with everything that is wrong with it")
        path = "/agent/search_products?query=&limit=500&colour=white"
        self.tell.agent(f"GET {path}")
        refusal = refused(self.http.get(path))
        for problem in refusal["problems"]:
            self.tell.site(f"{problem['field']}: {problem['message']}")
        self.tell.expect("answer", "invalid_input", refusal["code"])
        self.tell.expect(
            "all problems named at once",
            "colour, limit, query",
            ", ".join(sorted(problem["field"] for problem in refusal["problems"])),
        )

    def a_stranger_fills_no_cart(self) -> None:
        self.tell.step("Without a grant nobody fills a cart")
        body = {"product_id": PAPER, "quantity": QUANTITY}
        self.tell.agent(f"POST /agent/add_to_cart {shown(body)}, unsigned")
        refusal = refused(self.http.post("/agent/add_to_cart", json=body))
        self.tell.site(f"{refusal['status']}: {refusal['message']}")
        self.tell.expect("answer", "grant_required", refusal["code"])
        self.tell.expect("scope to ask for", "cart:write", ", ".join(refusal.get("required_scope", [])))

    def ada_sets_the_limits(self) -> None:
        self.tell.step("Ada gives her agent a grant with limits")
        ada = person("ada")
        self.chain = grants.issue(
            subject=self.key.public,
            scopes=SCOPES,
            expires_in=A_DAY,
            mandate=LIMIT,
            user=ada,
            note="Ada's shopping agent",
            site=self.site,
        )
        self.grant = self.chain[-1]
        self.tell.person(f"You may: {', '.join(SCOPES)}; here, for a day.")
        self.tell.person(f"You may spend {_usd(LIMIT.per_tx)} at a time and {_usd(LIMIT.total)} in all.")
        self.tell.says(
            "", f"(The site signs this for Ada: {self.grant.id}. Only this agent's key can use it.)"
        )
        self.agent.add_grant([grant.document for grant in self.chain])
        self.tell.expect("key that the grant is bound to", self.key.public, self.grant.subject)

    def the_cart_is_filled(self) -> None:
        self.tell.step("Now the agent fills its cart")
        cart = self._call("add_to_cart", {"product_id": PAPER, "quantity": QUANTITY})
        self.cart_id = cart["cart_id"]
        self.tell.site(
            f"{self.cart_id}: {QUANTITY} x {cart['lines'][0]['name']}, together {_money(cart, 'total')}"
        )
        self.total = self.spent = Decimal(str(cart["total"]))
        self.tell.expect("twice the price", self.price * QUANTITY, self.total)

    def the_cart_is_paid(self) -> None:
        self.tell.step("It pays, within Ada's limits")
        self.intent = random_id("demo-")
        self.purchase = {"cart_id": self.cart_id, "price": self.total}
        self.order = self._call("checkout", self.purchase, idempotency_key=self.intent)
        self.tell.site(f"{self.order['order_id']} is {self.order['state']}, receipt {self.order['receipt']}")
        self.tell.expect("state of the order", "placed", self.order["state"])
        self.tell.expect("charged", self.total, Decimal(str(self.order["total"])))
        self.tell.expect("left for Ada's agent", _usd(LIMIT.total - self._cents), _usd(self._left()))

    def the_receipt_is_checked(self) -> None:
        self.tell.step("The receipt is proof, with or without the site")
        self.tell.agent("GET /agent-actions/receipts, and /agent-actions/receipts/head")
        # The client has verified the list against the site's signed head when it answers.
        receipts = attempt("receipts", lambda: self.agent.receipts(self.origin))
        self.tell.expect(
            "receipts of the agent", self.order["receipt"], ", ".join(each["id"] for each in receipts)
        )
        [receipt] = receipts
        self.tell.site(
            f"number {receipt['seq']}: {receipt['amount']} {receipt['currency']} for {receipt['item']}"
        )
        self.tell.expect(
            "under the site's public key", "valid", verify_receipt(receipt, self.site_keys) or "valid"
        )
        forged = {**receipt, "amount": "0.01"}
        self.tell.expect(
            "with another amount, what fails", "signature", verify_receipt(forged, self.site_keys)
        )
        self.tell.agent("POST /agent-actions/receipts/verify")
        verdict = answered(self.http.post("/agent-actions/receipts/verify", json={"receipt": receipt}))
        self.tell.site(shown(verdict))
        self.tell.expect("the site stands by it", True, verdict["valid"] and verdict["in_log"])

    def a_lost_answer_is_asked_for_again(self) -> None:
        self.tell.step("The answer was lost? The same call again pays nothing twice")
        self.tell.agent("checkout again, with the same Idempotency-Key")
        again = attempt(
            "checkout",
            lambda: self.agent.call_action(
                self.origin, "checkout", self.purchase, idempotency_key=self.intent
            ),
        )
        self.tell.site(
            f"{again.value['order_id']} is {again.value['state']}, receipt {again.value['receipt']}"
        )
        self.tell.expect("it is marked as a replay", True, again.replayed)
        self.tell.expect("the order, still", self.order["order_id"], again.value["order_id"])
        self.tell.expect("left for Ada's agent, still", _usd(LIMIT.total - self._cents), _usd(self._left()))

    def a_copied_request_is_worthless(self) -> None:
        self.tell.step("Somebody copies a signed request and sends it again")
        headers = self._signature("GET", "/agent/cart", b"")
        first = self.http.get("/agent/cart", headers=headers)
        self.tell.agent("GET /agent/cart, signed")
        self.tell.site(str(first.status_code))
        self.tell.says("copycat", "GET /agent/cart, the same bytes", style="red")
        refusal = refused(self.http.get("/agent/cart", headers=headers))
        self.tell.site(f"{refusal['status']}: {refusal['message']}")
        self.tell.expect("status of the first", 200, first.status_code)
        self.tell.expect("answer to the copy", "request_replayed", refusal["code"])

    def one_more_by_the_shops_flow(self) -> None:
        self.tell.step("One more pack, by the shop's own flow: search, cart and payment")
        steps = [step["action"] for step in self.flows["buy_product"]["steps"]]
        wanted = {"query": WANTED, "quantity": 1, "price": self.price}
        self.tell.agent(f"buy_product {shown(wanted)}: {', '.join(steps)}")
        bought = attempt("buy_product", lambda: self.agent.run_flow(self.origin, "buy_product", wanted))
        found, cart, order = bought.outputs
        self.tell.site(
            f"{found['items'][0]['id']}, {cart['cart_id']}, {order['order_id']} is {order['state']}"
        )
        self.spent += Decimal(str(order["total"]))
        self.tell.expect("steps taken", len(steps), len(bought.outputs))
        self.tell.expect("charged", self.price, Decimal(str(order["total"])))
        newest = attempt("receipts", lambda: self.agent.receipts(self.origin))[-1]
        self.tell.expect("its receipt", order["receipt"], newest["id"])
        self.tell.expect("left for Ada's agent", _usd(LIMIT.total - self._cents), _usd(self._left()))

    def too_much_is_refused(self) -> None:
        self.tell.step("Ada's limit holds, whatever the agent does")
        self._call("add_to_cart", {"product_id": FEEDER, "quantity": 1})
        cart = self._call("add_to_cart", {"product_id": PAPER, "quantity": QUANTITY})
        self.tell.site(f"{cart['cart_id']}: together {_money(cart, 'total')}")
        self.feeders_before = _on_the_shelf(FEEDER)
        purchase = {"cart_id": cart["cart_id"], "price": cart["total"]}
        self.tell.agent(f"checkout {shown(purchase)}")
        error = held_back(lambda: self.agent.call_action(self.origin, "checkout", purchase))
        self.tell.says("(client)", error.message, style="dim")
        self.tell.expect("answer of its own client, which sends nothing", "grant_required", error.code)
        self.tell.says("reckless", "POST /agent/checkout, past the client", style="red")
        refusal = refused(self._post("/agent/checkout", purchase))
        self.tell.site(f"{refusal['status']}: {refusal['message']}")
        self.tell.expect("answer", "mandate_exceeded", refusal["code"])
        self.tell.expect("limit", "total", refusal.get("limit"))
        left = format_amount(LIMIT.total - self._cents, LIMIT.currency)
        self.tell.expect("remaining", left, refusal.get("remaining"))

    def the_books_are_right(self) -> None:
        self.tell.step("At the end of the day the books are right")
        status = self._call("order_status", {"limit": 50})
        self.tell.site(f"orders of Ada's: {len(status['orders'])}")
        mine = Order.objects.filter(subject=self.key.public)
        self.tell.expect("orders of this agent", 2, mine.count())
        self.tell.expect(
            "recycled paper on the shelf", self.shelf_before - QUANTITY - 1, _on_the_shelf(PAPER)
        )
        self.tell.expect("bird feeders on the shelf", self.feeders_before, _on_the_shelf(FEEDER))
        self.tell.expect("spent by the agent", _usd(self._cents), _usd(LIMIT.total - self._left()))

    def ada_changes_her_mind(self) -> None:
        self.tell.step("Ada changes her mind")
        grants.revoke(self.grant.id, reason="no more shopping today")
        self.tell.person("That is enough shopping for today. (She revokes the grant.)")
        self.tell.agent("cart {}")
        error = held_back(lambda: self.agent.call_action(self.origin, "cart"))
        self.tell.site(f"{error.status}: {error.message}")
        self.tell.expect("answer, from the next call on", "grant_revoked", error.code)

    # What the chapters share

    @property
    def _cents(self) -> int:
        """What the agent has spent, in cents."""
        return int(self.spent * 100)

    def _ada_is_asked(self, approval: Approval) -> bool:
        """Her client asks before it spends; she approves what is within her limits."""
        self.tell.says("(client)", f"asks Ada: {approval.question.message}", style="dim")
        self.tell.says("Ada", "yes", style="green")
        return True

    def _left(self) -> int:
        """What the site's own row says is left of the mandate, in cents."""
        row = MandateRow.objects.get(pk=self.grant.id)
        return row.total - row.spent

    def _call(self, action: str, value: dict[str, Any], **more: Any) -> Any:
        """The result of a call that must be answered."""
        self.tell.agent(f"{action} {shown(value)}")
        return attempt(action, lambda: self.agent.call_action(self.origin, action, value, **more)).value

    def _post(self, path: str, value: Any) -> httpx.Response:
        """Signed by hand, as an agent without a careful client would."""
        body = dumps(value)
        return self.http.post(path, content=body, headers=self._signature("POST", path, body))

    def _signature(self, method: str, path: str, body: bytes) -> dict[str, str]:
        headers = {"Agent-Grant": self.grant.id}
        if body:
            headers |= {"Content-Type": "application/json", "Idempotency-Key": random_id("demo-")}
        return headers | sign_request(
            method=method,
            url=self.origin + path,
            body=body,
            key=self.key,
            headers=headers,
            created=int(now()),
        )


def _on_the_shelf(slug: str) -> int:
    stock: int = Product.objects.values_list("stock", flat=True).get(pk=slug)
    return stock


def _usd(cents: int) -> str:
    return f"{format_amount(cents, 'USD')} USD"


def _money(priced: dict[str, Any], name: str = "price") -> str:
    return f"{priced[name]} {priced['currency']}"
