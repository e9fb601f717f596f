"""``receipts``, ``refund`` and ``negotiate`` as people read them, and how they end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentweb.client.command_line import OK, REFUSED, WAITING
from tests.client.site import Reply, Site
from tests.client.test_receipts import Log

Run = Callable[..., tuple[int, str, str]]
REFUNDS, TALK = "/agent-actions/refunds", "/agent-actions/negotiation"


def test_a_receipt_says_when_what_for_and_whose_money_came_back(run: Run, site: Site) -> None:
    log = Log(site)
    paid = log.add(20_00, item="2 × \x1b[2JAssam")
    log.add(5_00, kind="refund", refund_of=paid["id"], reason="One was broken.")
    site.script("/agent-actions/receipts", log.page)
    site.script("/agent-actions/receipts/head", Reply(200, log.head()))
    code, out, _err = run("receipts", site.url)
    assert (code, out.splitlines()) == (
        OK,
        [
            f"{paid['id']}  2026-09-21 14:13 UTC  20.00 USD  buy, 2 × [2JAssam",
            f"{log.receipts[1]['id']}  2026-09-21 14:13 UTC  -5.00 USD  buy, sku, refund of {paid['id']}, "
            "reason: One was broken.",
        ],
    )


@pytest.mark.parametrize(
    ("state", "code", "more"),
    [
        ("done", OK, ["  {receipt}"]),
        ("pending", WAITING, ["  It waits for the site; how it stands says: agentweb refund {url} rf_1"]),
        ("refused", REFUSED, ["  reason: Too late."]),
    ],
)
def test_a_refund_is_said_in_lines(run: Run, site: Site, state: str, code: int, more: list[str]) -> None:
    log = Log(site)
    site.manifest["endpoints"]["refunds"] = REFUNDS
    paid = log.add(20_00)
    told: dict[str, Any] = {
        "id": "rf_1",
        "state": state,
        "receipt": paid["id"],
        "amount": "5.00",
        "currency": "USD",
    }
    body: dict[str, Any] = {"refund": told}
    line = ""
    if state == "done":
        back = body["receipt"] = log.add(5_00, kind="refund", refund_of=paid["id"], reason="late")
        line = (
            f"{back['id']}  2026-09-21 14:13 UTC  -5.00 USD  buy, sku, refund of {paid['id']}, reason: late"
        )
    if state == "refused":
        told["reason"] = "Too late."
    site.script(f"{REFUNDS}/rf_1", Reply(200, body), Reply(200, body))
    ended, out, _err = run("refund", site.url, "rf_1")
    said = [each.format(url=site.url, receipt=line) for each in more]
    assert (ended, out.splitlines()) == (code, [f"rf_1 {state}, 5.00 USD, of {paid['id']}", *said])
    ended, out, _err = run("--json", "refund", site.url, "rf_1")
    assert (ended, json.loads(out)) == (code, body)


def standing(state: str, by: str = "site", **more: Any) -> Reply:
    offer = {"by": by, "price": "90.00", **more.pop("offer", {})}
    return Reply(200, {"id": "ng_1", "state": state, "currency": "EUR", "offer": offer, "round": 1, **more})


def test_a_price_that_the_site_does_not_take_ends_with_1_and_its_word(run: Run, site: Site) -> None:
    site.manifest["endpoints"] = {"negotiation": TALK}
    said = standing("rejected", "buyer", note="Name a product that we sell.\n")
    site.script(TALK, said, said)
    asked = ("negotiate", site.url, '{"product_id": "x"}', "--price", "90", "--currency", "EUR")
    assert run(*asked)[:2] == (
        REFUSED,
        "ng_1 rejected, round 1\n  you offered 90.00 EUR\n  note: Name a product that we sell.\n",
    )
    code, out, _err = run("--json", *asked)
    assert (code, json.loads(out)["state"]) == (REFUSED, "rejected")


def test_a_counter_offer_is_said_in_words_and_leaving_it_is_no_refusal(run: Run, site: Site) -> None:
    site.manifest["endpoints"] = {"negotiation": TALK}
    counter = standing("countered", offer={"note": "For you."})
    site.script(TALK, counter)
    assert run("negotiate", site.url, '{"product_id": "x"}', "--price", "80", "--currency", "EUR")[:2] == (
        OK,
        "ng_1 countered, round 1\n  the site asks 90.00 EUR\n  note: For you.\n",
    )
    site.script(f"{TALK}/ng_1", counter, standing("rejected"), standing("expired"))
    assert run("negotiate", site.url, "ng_1", "--reject", "--currency", "EUR")[0] == OK
    assert run("negotiate", site.url, "ng_1", "--currency", "EUR")[0] == REFUSED
