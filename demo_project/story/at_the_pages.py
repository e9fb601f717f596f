"""The story's second part: agents that cannot sign, and work at the shop's pages beside the people they help.

Ada and the member of the staff use the site with a browser here: they log in, read what a program asks for, tick
what it may do, and press buttons. Everything goes over HTTP, with the pages' own forms.
"""

from __future__ import annotations

import re
from typing import Any, Final

import httpx

from agentweb.wire import tokens, toon
from demo_project.shop.models import StaffRequest
from demo_project.staging import STAFF, renew_password
from demo_project.story.browser import Browser
from demo_project.story.chapters import answered, play, refused
from demo_project.story.narrator import Narrator, shown

ADA: Final = "ada"
TEA: Final = "earl-grey-100"
QUANTITY: Final = 2
ASKED: Final = ("cart:read", "cart:write", "orders:read", "orders:cancel")
GIVEN: Final = "cart:read, cart:write, orders:read"
PAGES: Final = ("/index", "/cart", "/orders")
MAX_DOCUMENT: Final = 1_000_000


class AtThePages:
    """One telling, against the site at ``origin``."""

    def __init__(self, origin: str, narrator: Narrator) -> None:
        self.origin = origin
        self.tell = narrator
        self.http = httpx.Client(base_url=origin, trust_env=False, timeout=30)
        self.ada = Browser(origin)
        self.staff = Browser(origin)

    def play(self) -> None:
        """All chapters in order. Raises UnexpectedError at the first step that goes otherwise."""
        self.tell.title("\nAnd at the shop's pages, an agent beside Ada")
        with self.http, self.ada.http, self.staff.http:
            play(
                (
                    self.a_page_says_what_it_offers,
                    self.the_helper_asks_for_a_session,
                    self.ada_agrees_to_less,
                    self.a_wrong_shape_is_explained,
                    self.the_helper_fills_her_cart,
                    self.ada_pays_herself,
                    self.pages_are_short_in_toon,
                    self.the_staff_have_a_helper_too,
                    self.the_helper_approves_one_request,
                    self.ada_ends_the_session,
                )
            )

    def a_page_says_what_it_offers(self) -> None:
        self.tell.step("Another program cannot sign; it reads what a page offers")
        self.tell.helper("GET /cart.json")
        manifest = answered(self.http.get("/cart.json"))
        actions = [action["id"] for action in manifest["actions"]]
        self.tell.site(f"200, the page {manifest['page']} offers {', '.join(actions)}")
        self.tell.expect("protocol", "AIP", manifest["protocol"])
        self.tell.expect("what a stranger sees of the cart", {}, manifest["state"])
        self.tell.expect("state_scope", "public_schema_only", manifest["state_scope"])
        self.example = manifest["invoke_example"]
        self.tell.expect("how to call, by example", "add_to_cart", self.example["actionId"])

    def the_helper_asks_for_a_session(self) -> None:
        self.tell.step("It asks for a session, and has to wait for Ada")
        self.token, self.asked = self._ask("Shopping list", ASKED)
        refusal = refused(self._look("/cart.json", self.token))
        self.tell.site(f"{refusal['status']}: {refusal['message']}")
        self.tell.expect("answer to its token", "session_pending", refusal["code"])

    def ada_agrees_to_less(self) -> None:
        self.tell.step("Ada reads what it asks for, and agrees to less")
        self.ada.log_in(ADA, renew_password(ADA))
        page = self.ada.open(self.asked["verification_url_complete"])
        self.tell.expect("the page names the program and its code", True, _names(page, self.asked))
        # Boxes of what deletes are empty until a person ticks them.
        self.ada.press("Approve", untick=("orders:cancel",))
        self.tell.person("It may fill my cart and look at my orders; it may not cancel them, nor spend.")
        session = answered(self._look("/__aim/sessions/current", self.token))
        self.tell.expect("what the session may do", GIVEN, ", ".join(sorted(session["scopes"])))
        self.tell.expect("for whom", ADA, session["user"])

    def a_wrong_shape_is_explained(self) -> None:
        self.tell.step("Everything is said in texts; what is not is explained")
        wrong = {"product_id": TEA, "quantity": QUANTITY}
        refusal = refused(self._invoke("add_to_cart", wrong, self.token))
        for problem in refusal["problems"]:
            self.tell.site(f"{problem['pointer']}: {problem['message']}")
        self.tell.expect("answer", "invalid_input", refusal["code"])

    def the_helper_fills_her_cart(self) -> None:
        self.tell.step("It puts tea into Ada's own cart")
        before = _quantity(answered(self._look("/cart.json", self.token))["state"])
        line = {"product_id": TEA, "quantity": str(QUANTITY)}
        done = answered(self._invoke("add_to_cart", line, self.token, page="/cart"))
        self.tell.site(f"ok, and the page now shows {shown(done['state'])}")
        self.tell.expect("boxes of tea in the cart", before + QUANTITY, _quantity(done["state"]))
        refusal = refused(self._invoke("checkout", {"cart_id": "ct_1", "price": "20.00"}, self.token))
        self.tell.site(f"{refusal['status']}: {refusal['message']}")
        self.tell.expect("whether it may pay", "insufficient_scope", refusal["code"])

    def ada_pays_herself(self) -> None:
        self.tell.step("Ada finds it on her page, and pays herself")
        page = self.ada.open("/cart")
        self.tell.expect("the tea is on her page", True, "Earl Grey" in page)
        self.tell.person("(presses “Order and pay”)")
        page = self.ada.press("Order and pay $")
        placed = re.search(r"Your order (or_[\w-]{22}) is placed and paid", page)
        if placed is None:
            raise LookupError("no order was placed")
        self.order = placed[1]
        state = answered(self._look("/orders.json", self.token))["state"]
        self.tell.expect("newest order that the helper sees", self.order, state["orders"][0]["order_id"])

    def pages_are_short_in_toon(self) -> None:
        self.tell.step("The same pages in JSON and in TOON")
        same = []
        for page in PAGES:
            as_json = self._look(f"{page}.json", self.token)
            as_toon = self._look(f"{page}.toon", self.token)
            same.append(toon.loads(as_toon.content, max_bytes=MAX_DOCUMENT) == as_json.json())
            counts = [tokens.count(document.text) for document in (as_json, as_toon)]
            sizes = [len(document.content) for document in (as_json, as_toon)]
            self.tell.site(
                f"{page + ':':8} JSON {counts[0]:6,} tokens, {sizes[0]:6,} bytes;  "
                f"TOON {counts[1]:6,} tokens, {sizes[1]:6,} bytes"
            )
        self.tell.says(
            "", f"(Tokens are counted by {tokens.COUNTER}. TOON is short for lists, not for schemas.)"
        )
        self.tell.expect("both say the same, on every page", True, all(same))

    def the_staff_have_a_helper_too(self) -> None:
        self.tell.step("Ada cancels; the staff have a helper for that")
        self.ada.open("/orders")
        self.ada.press(f"Cancel the order {self.order}")
        self.tell.person(f"(cancels {self.order}, and waits for her money)")
        # No error of ours, but the site's own page for an address at which nothing is.
        self.tell.expect(
            "the control panel, for Ada's helper",
            404,
            self._look("/control-panel.json", self.token).status_code,
        )
        self.staff.log_in(STAFF, renew_password(STAFF))
        self.staff_token, asked = self._ask("Back office", None)
        self.staff.open(asked["verification_url_complete"])
        self.staff.press("Approve", {"scopes": "requests:approve"})
        self.tell.says("staff", "You may approve requests, and nothing else.", style="yellow")
        state = answered(self._look("/control-panel.json", self.staff_token))["state"]
        [self.request] = [each["id"] for each in state["requests"] if each["order"] == self.order]
        for request in state["requests"]:
            self.tell.site(
                f"{request['id']}: {request['kind']} of {request['amount']} cents, {request['status']}"
            )

    def the_helper_approves_one_request(self) -> None:
        self.tell.step("It approves one request, by the text alone")
        refusal = refused(self._invoke("approve_request", {"id": self.request}, self.staff_token))
        self.tell.site(f"{refusal['status']}: {refusal['problems'][0]['message']}")
        self.tell.expect("answer to an object", "invalid_input", refusal["code"])
        done = answered(
            self._invoke("approve_request", self.request, self.staff_token, page="/control-panel")
        )
        self.tell.expect(f"{self.request} is", "approved", done["result"]["status"])
        waiting = [each["id"] for each in done["state"]["requests"]]
        self.tell.expect("it waits no more", True, self.request not in waiting)
        row = StaffRequest.objects.select_related("decided_by").get(order=self.order, status="approved")
        self.tell.expect("who decided, in the shop's own books", STAFF, str(row.decided_by))

    def ada_ends_the_session(self) -> None:
        self.tell.step("Ada ends the session")
        self.ada.open("/agent-access/")
        self.ada.press("End now", of=self.asked["session_id"])
        self.tell.person("Thank you, that is all. (She ends it on the page of her connected agents.)")
        refusal = refused(self._look("/cart.json", self.token))
        self.tell.site(f"{refusal['status']}: {refusal['message']}")
        self.tell.expect("answer, from the next call on", "session_revoked", refusal["code"])

    # What the chapters share

    def _ask(self, name: str, scopes: tuple[str, ...] | None) -> tuple[str, dict[str, Any]]:
        """(token, all that the site answered) of a session that waits for its person."""
        wanted = {"client_name": name} | ({"scopes": list(scopes)} if scopes else {})
        self.tell.helper(f"POST /__aim/sessions {shown(wanted)}")
        asked = answered(self.http.post("/__aim/sessions", json=wanted), status=httpx.codes.CREATED)
        self.tell.site(f"201, to be agreed to with the code {asked['user_code']}")
        return asked["token"], asked

    def _look(self, path: str, token: str) -> httpx.Response:
        return self.http.get(path, headers={"Authorization": f"Bearer {token}"})

    def _invoke(self, action: str, value: Any, token: str, *, page: str | None = None) -> httpx.Response:
        body = {"actionId": action, "input": value} | ({"page": page} if page else {})
        self.tell.helper(f"POST /__aim/invoke {shown(body)}")
        return self.http.post("/__aim/invoke", json=body, headers={"Authorization": f"Bearer {token}"})


def _names(page: str, asked: dict[str, Any]) -> bool:
    return "Shopping list" in page and asked["user_code"] in page


def _quantity(state: dict[str, Any]) -> int:
    """How many boxes of the tea are in the carts of a page's state."""
    lines = [line for cart in state["carts"] for line in cart["lines"] if line["product_id"] == TEA]
    return sum(line["quantity"] for line in lines)
