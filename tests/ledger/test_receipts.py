"""Receipts: signed, chained, for their parties only, and verifiable by anyone who holds one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from agentweb import AgentError
from agentweb.access import site_keys
from agentweb.ledger import receipts
from agentweb.models import Receipt, ReceiptHead
from agentweb.testing import mandate
from agentweb.wire.receipts import verify_chain, verify_head, verify_receipt
from tests.support.calls import ISSUER, SITE, agent_caller, attenuate, caller_with, chain_of, do, seed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def site_key() -> None:
    site_keys.ensure_active_key()


def pay(caller: Any, number: int, price: str = "1.00") -> dict[str, Any]:
    [document] = do(
        "pay", {"item": "tea", "price": Decimal(price)}, caller, key=f"receipt-{number:012d}"
    ).receipts
    return document


def test_receipts_are_signed_numbered_without_a_gap_and_chained() -> None:
    caller = agent_caller(spending="USD:5.00/200.00")
    documents = [pay(caller, number) for number in range(5)]
    keys = site_keys.published_keys()
    head = receipts.signed_head(SITE)
    assert [document["seq"] for document in documents] == [1, 2, 3, 4, 5]
    assert documents[0]["prev"] is None
    assert all(verify_receipt(document, keys) is None for document in documents)
    assert verify_head(head, keys) is None
    assert verify_chain(documents, head, keys=keys) is None
    assert verify_chain(documents[:-1], head, keys=keys) is not None, "a cut tail shows"
    assert verify_chain([documents[0], *documents[2:]], head, keys=keys) is not None, "a gap shows"


def test_the_head_of_an_empty_chain_is_signed_too() -> None:
    head = receipts.signed_head(SITE)
    assert (head["seq"], head["hash"]) == (0, None)
    assert verify_head(head, site_keys.published_keys()) is None


def test_a_receipt_is_found_by_its_parties_and_by_nobody_else() -> None:
    parent = chain_of(spending="USD:5.00/200.00", delegate=1)
    child = attenuate(parent, seed(7), subject=seed(9).public, mandate=mandate("USD:5.00/9.00"))
    document = pay(caller_with(child), 1)
    from agentweb.access.callers import AGENT, Caller

    for party in (seed(9), seed(7), ISSUER):
        caller = Caller(kind=AGENT, subject=party.public, agent_key=party.public)
        assert receipts.find(caller, document["id"], site=SITE) == document
        assert receipts.page(caller, site=SITE, after=0, limit=10) == ([document], None)
    stranger = Caller(kind=AGENT, subject=seed(1).public, agent_key=seed(1).public)
    assert receipts.page(stranger, site=SITE, after=0, limit=10) == ([], None)
    with pytest.raises(AgentError) as caught:
        receipts.find(stranger, document["id"], site=SITE)
    assert (caught.value.code, caught.value.status) == ("receipt_not_found", 404)


def test_pages_follow_the_cursor_and_show_each_receipt_once() -> None:
    caller = agent_caller(spending="USD:5.00/200.00")
    other = agent_caller(spending="USD:5.00/200.00", agent=seed(8))
    mine = []
    for number in range(5):
        mine.append(pay(caller, number)["id"])
        pay(other, number)
    seen: list[Any] = []
    after: str | None = "0"
    while after is not None:
        items, after = receipts.page(caller, site=SITE, after=int(after), limit=2)
        seen += [item["id"] for item in items]  # type: ignore[index]
    assert seen == mine


def test_receipts_of_another_origin_of_the_same_database_are_another_chain() -> None:
    caller = agent_caller(spending="USD:5.00/200.00")
    document = pay(caller, 1)
    assert receipts.page(caller, site="other.example", after=0, limit=10) == ([], None)
    with pytest.raises(AgentError, match="no receipt"):
        receipts.find(caller, document["id"], site="other.example")


def test_a_page_costs_one_query_however_many_receipts_there_are(django_assert_num_queries: Any) -> None:
    caller = agent_caller(spending="USD:5.00/200.00")
    for number in range(4):
        pay(caller, number)
    with django_assert_num_queries(1):
        receipts.page(caller, site=SITE, after=0, limit=100)


def test_verification_tells_whether_a_receipt_is_ours_and_in_the_log() -> None:
    document = pay(agent_caller(spending="USD:5.00/200.00"), 1)
    assert receipts.verify(document) == {
        "valid": True,
        "reason": None,
        "in_log": True,
        "status": "charged",
        "refunded": "0.00",
    }
    forged = {**document, "amount": "0.01"}
    assert receipts.verify(forged) == {"valid": False, "reason": "signature", "in_log": False}
    Receipt.objects.all().delete()
    assert receipts.verify(document) == {"valid": True, "reason": None, "in_log": False}


@pytest.mark.parametrize("nonsense", [None, [], "x", 5, {}, {"id": 5}, {"type": "agent-receipt/0.1"}])
def test_what_is_no_receipt_is_malformed_and_nothing_worse(nonsense: Any) -> None:
    assert receipts.verify(nonsense) == {"valid": False, "reason": "malformed", "in_log": False}


def test_receipts_of_a_retired_key_stay_valid() -> None:
    caller = agent_caller(spending="USD:5.00/200.00")
    before = pay(caller, 1)
    site_keys.rotate()
    after = pay(caller, 2)
    assert before["kid"] != after["kid"]
    assert [receipts.verify(document)["valid"] for document in (before, after)] == [True, True]
    assert ReceiptHead.objects.get().seq == 2
