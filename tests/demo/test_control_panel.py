"""Requests that the staff decide, on their page or by an agent."""

from __future__ import annotations

from tests.demo.shopping import Shop

LARGE = {"cordless-drill-12v": 3}


def test_the_control_panel_is_for_the_staff(shop: Shop) -> None:
    customer = shop.browser("rosa")
    answer = customer.http.get("/control-panel")
    assert answer.status_code == 403
    assert "This is for the staff" in answer.text
    assert "Control panel</a>" not in customer.open("/")
    assert "Control panel</a>" in shop.browser("staff").open("/")


def test_the_staff_approve_and_decline(shop: Shop) -> None:
    refunds = []
    for _ in range(2):
        order = shop.desk.ask("order_of", name="rosa", products={"basil-seeds": 1})
        refunds.append((order, shop.desk.ask("cancel", name="rosa", order_id=order)))
    staff = shop.browser("staff")
    stale = staff.open("/control-panel")
    (first, approved), (second, declined) = refunds
    assert f"{approved} is approved." in staff.press(f"Approve {approved}")
    assert f"{declined} is declined." in staff.press(f"Decline {declined}")
    staff.page = stale
    assert "has decided that request already: it is approved." in staff.press(f"Decline {approved}")
    assert shop.desk.ask("requests_of", order_id=first) == [[approved, "refund", "approved"]]
    assert shop.desk.ask("requests_of", order_id=second) == [[declined, "refund", "declined"]]
    page = shop.browser("rosa").open("/orders")
    assert "Refund: approved" in page
    assert "Refund: declined" in page


def test_a_large_order_is_sent_off_when_the_staff_have_approved_it(shop: Shop) -> None:
    order = shop.desk.ask("order_of", name="rosa", products=LARGE)
    [[ident, kind, status]] = shop.desk.ask("requests_of", order_id=order)
    assert (kind, status) == ("large_purchase", "pending")
    assert shop.desk.ask("send_off", order_id=order) == 0
    shop.browser("staff").open("/control-panel")
    helper = shop.helper("staff", "requests:approve")
    assert helper.invokes("approve_request", ident)[0] == 200
    assert shop.desk.ask("send_off", order_id=order) == 1


def test_a_small_order_is_sent_off_at_once(shop: Shop) -> None:
    order = shop.desk.ask("order_of", name="rosa", products={"basil-seeds": 1})
    assert shop.desk.ask("requests_of", order_id=order) == []
    assert shop.desk.ask("send_off", order_id=order) == 1


def test_a_large_order_that_is_cancelled_asks_for_the_money_alone(shop: Shop) -> None:
    order = shop.desk.ask("order_of", name="rosa", products=LARGE)
    shop.desk.ask("cancel", name="rosa", order_id=order)
    found = {kind: status for _, kind, status in shop.desk.ask("requests_of", order_id=order)}
    assert found == {"large_purchase": "withdrawn", "refund": "pending"}


def test_an_agent_of_the_staff_approves_by_the_text_alone(shop: Shop) -> None:
    order = shop.desk.ask("order_of", name="rosa", products={"ring-binder-a4": 10})
    ident = shop.desk.ask("cancel", name="rosa", order_id=order)
    helper = shop.helper("staff", "requests:approve")
    [entry] = helper.http.get("/control-panel.json").json()["actions"]
    assert entry == {
        "id": "approve_request",
        "description": "Approve one pending request",
        "input_schema": {
            "type": "string",
            "description": "The request ID itself; do not wrap it in an object",
            "minLength": 1,
        },
        "input_example": "req-3",
        "consequential": True,
    }
    state = helper.sees("/control-panel")
    assert (state["authenticated"], state["view"]) == (True, "control-panel")
    [request] = [each for each in state["requests"] if each["id"] == ident]
    assert list(request.items())[:3] == [("id", ident), ("amount", 4200), ("status", "pending")]
    assert (request["currency"], request["kind"], request["customer"]) == ("USD", "refund", "rosa")
    status, done = helper.invokes("approve_request", ident, page="/control-panel")
    assert (status, done["result"]["status"]) == (200, "approved")
    assert ident not in [each["id"] for each in done["state"]["requests"]]
    status, again = helper.invokes("approve_request", ident)
    assert (status, again["error"]["code"]) == (409, "request_decided")
    assert again["error"]["request_status"] == "approved"


def test_wrong_inputs_are_answered_with_what_is_right(shop: Shop) -> None:
    helper = shop.helper("staff", "requests:approve")
    for value in ({"id": "req-1"}, {"request_id": "req-1"}, ["req-1"], 1, "", None):
        status, answer = helper.invokes("approve_request", value)
        assert (status, answer["error"]["code"]) == (422, "invalid_input"), value
        assert answer["error"]["problems"], value
    for ident in ("req-0", "req-999999999", "3", "req-" + "9" * 40, " req-1", "req-１"):
        status, answer = helper.invokes("approve_request", ident)
        assert (status, answer["error"]["code"]) == (404, "request_not_found"), ident


def test_agents_of_others_do_not_know_of_it(shop: Shop) -> None:
    for agent in (shop.helper("rosa", "*"), shop.helper("rosa", "requests:approve")):
        for form in ("json", "toon"):
            assert agent.http.get(f"/control-panel.{form}").status_code == 404
        status, answer = agent.invokes("approve_request", "req-1")
        made_up = agent.invokes("no_such_action", "req-1")[1]
        assert (status, answer["error"]["code"]) == (404, made_up["error"]["code"])
        assert "control-panel" not in agent.http.get("/sitemap.toon").text
    without = shop.helper("staff", "cart:read")
    assert without.invokes("approve_request", "req-1")[1]["error"]["code"] == "insufficient_scope"
