"""Asking for money back: one intent, one refund, and what is left of the mandate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentweb.client import AgentClient, ApprovalPolicy, KeyStore
from agentweb.wire.errors import AgentError
from tests.client.conftest import AGENT
from tests.client.site import Reply, Site, Time, error
from tests.client.test_receipts import Log

Grant = Callable[..., str]
REFUNDS = "/agent-actions/refunds"


@pytest.fixture
def log(site: Site, grant: Grant) -> Log:
    held = grant("*", spending=("USD", 50_00, 60_00))
    log = Log(site)
    site.manifest["endpoints"]["refunds"] = REFUNDS
    log.add(20_00, grant=held, root=held)
    return log


def refusal(call: Callable[[], object]) -> AgentError:
    with pytest.raises(AgentError) as caught:
        call()
    return caught.value


def back(log: Log, amount: int) -> dict[str, Any]:
    paid = log.receipts[0]
    return log.add(
        amount, kind="refund", refund_of=paid["id"], reason="late", grant=paid["grant"], root=paid["root"]
    )


def test_a_refund_is_signed_with_the_key_and_gives_the_mandate_back(
    site: Site, client: AgentClient, log: Log
) -> None:
    paid = log.receipts[0]
    site.script("/agent-actions/receipts", log.page)
    site.script("/agent-actions/receipts/head", Reply(200, log.head()))
    client.receipts(site.url)
    assert client.grants()[0]["mandate"]["remaining"] == "40.00"
    site.script(REFUNDS, Reply(200, {"refund": {"id": "rf_1", "state": "done"}, "receipt": back(log, 5_00)}))
    refund = client.refund(site.url, paid["id"], "5.00", reason="late")
    assert (refund.is_pending, refund.id) == (False, "rf_1")
    assert refund.receipt is not None
    assert (refund.receipt["amount"], refund.receipt["refund_of"]) == ("5.00", paid["id"])
    (seen,) = site.calls(REFUNDS)
    assert seen.json == {"receipt": paid["id"], "amount": "5.00", "reason": "late"}
    assert (site.signer_of(seen), len(str(seen.key)) >= 16) == (AGENT.public, True)
    assert client.grants()[0]["mandate"]["remaining"] == "45.00"
    assert client.pending() == []


def test_a_lost_answer_is_asked_for_under_the_same_key(
    site: Site, keystore: KeyStore, time: Time, log: Log
) -> None:
    never = ApprovalPolicy.never_ask()
    client = AgentClient(keystore, approval=never, clock=time, sleep=time.sleep, attempts=1)
    site.script(REFUNDS, site.act_and_drop)
    assert refusal(lambda: client.refund(site.url, "rc_1", reason="late")).code == "site_unreachable"
    (pending,) = client.pending()
    assert pending.action == "POST refunds"
    assert client.refund(site.url, "rc_1", reason="late").replayed is True
    assert {seen.key for seen in site.calls(REFUNDS)} == {pending.key}
    client.refund(site.url, "rc_1", reason="late")
    assert len({seen.key for seen in site.calls(REFUNDS)}) == 2


def test_a_refund_that_waits_for_the_staff_is_asked_about_later(
    site: Site, client: AgentClient, log: Log
) -> None:
    waiting = {"refund": {"id": "rf_1", "state": "pending", "receipt": "rc_1"}}
    site.script(REFUNDS, Reply(202, waiting))
    refund = client.refund(site.url, "rc_1", reason="late")
    assert (refund.is_pending, refund.id, refund.value) == (True, "rf_1", waiting)
    site.script(f"{REFUNDS}/rf_1", Reply(200, {"refund": {"id": "rf_1"}, "receipt": back(log, 5_00)}))
    assert client.refund_state(site.url, "rf_1").is_pending is False


def test_what_the_site_refuses_and_what_it_does_not_offer(site: Site, client: AgentClient, log: Log) -> None:
    site.script(REFUNDS, error(422, "refund_exceeds_charge", remaining="15.00"))
    caught = refusal(lambda: client.refund(site.url, "rc_1", 16, reason="late"))
    assert (caught.code, caught.extra["remaining"]) == ("refund_exceeds_charge", "15.00")
    caught = refusal(lambda: client.refund(site.url, "rc_1", 1.5, reason="late"))  # type: ignore[arg-type]
    assert caught.code == "amount_invalid"
    del site.manifest["endpoints"]["refunds"]
    assert refusal(lambda: client.refund(site.url, "rc_1", reason="late")).code == "not_found"
    assert len(site.calls(REFUNDS)) == 1
