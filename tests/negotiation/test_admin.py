"""Negotiations and agreements in the admin: what staff see, find and cannot change."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agentweb.models import Agreement, Negotiation
from agentweb.negotiation import accept, counter
from agentweb.testing import clock
from tests.negotiation.test_moves import Buyer
from tests.support.staff import boss, browser, page, staff, text_of


@pytest.fixture
def client(db: None) -> Client:
    return browser(boss())


def listed(client: Client, model: str, **query: str) -> list[str]:
    return [row.pk for row in client.get(page(model), query).context["cl"].result_list]


def test_staff_see_how_far_a_buyer_came_and_what_each_side_said(script: list[Any], client: Client) -> None:
    script.append(counter(90, "Tea is <dear>."))
    buyer = Buyer()
    buyer.begin("80.00")
    answer = client.get(page("negotiation", "change", buyer.id))
    for said in (
        buyer.id,
        "waits for the buyer",
        "80.00 USD",
        "90.00 USD",
        "Tea is <dear>.",
        "sku-1",
        "1 of 5",
    ):
        assert said in text_of(answer)
    assert "<dear>" not in answer.content.decode()


def test_an_agreement_is_shown_whole_and_linked_from_its_negotiation(
    script: list[Any], client: Client
) -> None:
    script.append(accept())
    buyer = Buyer()
    buyer.begin("80.00")
    agreement = Agreement.objects.get()
    assert (
        page("agreement", "change", agreement.pk)
        in client.get(page("negotiation", "change", buyer.id)).content.decode()
    )
    shown = text_of(client.get(page("agreement", "change", agreement.pk)))
    for said in (agreement.pk, "open", "80.00 USD", "sku-1", "agent-agreement/0.1"):
        assert said in shown


@pytest.mark.parametrize("time_passes", [False, True], ids=["at-once", "later"])
def test_lists_are_asked_by_state_and_what_is_over_time_is_expired(
    script: list[Any], client: Client, time_passes: bool
) -> None:
    script += [counter(90), accept()]
    with clock() as time:
        talking, agreed = Buyer(), Buyer()
        talking.begin("80.00")
        agreed.begin("80.00", terms={"product_id": "sku-2"})
        agreement = Agreement.objects.get().pk
        if time_passes:
            # Less than a login lasts, more than an offer.
            time.forward(2 * 3_600)
        over, still = ([talking.id], []) if time_passes else ([], [talking.id])
        assert listed(client, "negotiation", state="expired") == over
        assert listed(client, "negotiation", state="countered") == still
        assert listed(client, "negotiation", state="accepted") == [agreed.id]
        assert listed(client, "agreement", state="open") == ([] if time_passes else [agreement])
        assert listed(client, "agreement", state="expired") == ([agreement] if time_passes else [])
        assert listed(client, "agreement", state="used") == []
    Agreement.objects.update(receipt="rc_1")
    assert listed(client, "agreement", state="used") == [agreement]


def test_staff_look_with_a_permission_and_nobody_changes_anything(script: list[Any], client: Client) -> None:
    script.append(accept())
    buyer = Buyer()
    buyer.begin("80.00")
    agreement = Agreement.objects.get()
    clerk = browser(staff("view_negotiation"))
    assert clerk.get(page("negotiation", "change", buyer.id)).status_code == 200
    assert clerk.get(page("agreement", "change", agreement.pk)).status_code == 403
    for model, row in (("negotiation", buyer.id), ("agreement", agreement.pk)):
        assert client.post(page(model, "change", row), {"price": "1"}).status_code == 403
        assert client.get(page(model, "add")).status_code == 403
        assert client.get(page(model, "delete", row)).status_code == 403
    assert Negotiation.objects.get().state == "accepted"
