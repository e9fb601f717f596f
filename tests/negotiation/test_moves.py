"""The moves of a negotiation: what each does in each state, and what no move may do."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from agentweb import AgentError
from agentweb.access import site_keys
from agentweb.models import Agreement, Negotiation
from agentweb.negotiation import accept, counter, moves, reject
from agentweb.negotiation.negotiator import Context
from agentweb.testing import clock
from agentweb.wire.agreements import verify_agreement
from agentweb.wire.clock import now_datetime
from tests.negotiation import negotiators
from tests.support.calls import SITE, agent_caller, seed

TERMS = {"product_id": "sku-1", "quantity": 2}


class Buyer:
    """An agent that bargains, in process."""

    def __init__(self, **grant: Any) -> None:
        self.caller = agent_caller(**grant)
        self.context = Context(self.caller, "rq_" + "A" * 22)
        self.id = ""

    def begin(self, price: str = "80.00", *, terms: Any = None, currency: str = "USD") -> dict[str, Any]:
        answer = moves.begin(
            self.context,
            site=SITE,
            terms=terms or TERMS,
            price=moves.read_price(price, currency, field="price"),
            currency=currency,
            note="",
        )
        self.id = answer["id"]
        return answer

    def offer(self, price: Any, note: str = "") -> dict[str, Any]:
        return moves.offer(self.context, self.id, site=SITE, price=price, note=note)

    def accept(self, made: int) -> dict[str, Any]:
        return moves.accept(self.caller, self.id, made, site=SITE)

    def reject(self) -> dict[str, Any]:
        return moves.reject(self.caller, self.id, site=SITE)

    def show(self) -> dict[str, Any]:
        return moves.shown(moves.find(self.caller, self.id, site=SITE))


def refused(move: Any, *arguments: Any) -> AgentError:
    with pytest.raises(AgentError) as caught:
        move(*arguments)
    return caught.value


def test_a_negotiation_goes_from_offer_to_counter_to_agreement(script: list[Any]) -> None:
    buyer = Buyer()
    script += [counter("95.00", "Our best."), counter(90), accept()]
    first = buyer.begin("80.00")
    assert first == {
        "id": buyer.id,
        "state": "countered",
        "terms": TERMS,
        "currency": "USD",
        "offer": {"by": "site", "price": "95.00", "note": "Our best."},
        "round": 1,
        "rounds_left": 4,
        "expires": first["expires"],
        "agreement": None,
    }
    second = buyer.offer("85.00", "for a regular")
    assert (second["offer"], second["round"]) == ({"by": "site", "price": "90.00"}, 2)
    third = buyer.offer(Decimal("87.5"))
    agreement = third["agreement"]
    assert (third["state"], third["offer"]) == ("accepted", {"by": "buyer", "price": "87.50"})
    assert (agreement["price"], agreement["currency"], agreement["terms"]) == ("87.50", "USD", TERMS)
    assert verify_agreement(agreement, site_keys.published_keys()) is None
    assert agreement["buyer"] == {"agent": buyer.caller.subject, "root": buyer.caller.root.id}  # type: ignore[union-attr]
    assert buyer.show() == third


def test_the_negotiator_is_told_all_that_it_needs(script: list[Any]) -> None:
    buyer = Buyer()
    script += [counter(95), counter(90)]
    buyer.begin("80.00")
    buyer.offer("85.00", "please")
    first, second = negotiators.seen
    assert (first.terms, first.price, first.currency) == (TERMS, Decimal(80), "USD")
    assert (first.round, first.rounds_left, first.rounds, first.asked) == (1, 4, 5, None)
    assert (second.price, second.first, second.asked, second.round) == (85, 80, 95, 2)
    assert (first.note, second.note) == ("", "please")
    assert negotiators.contexts[0].caller is buyer.caller
    assert negotiators.contexts[0].user.is_anonymous


def test_an_agreement_has_an_end_of_its_own(script: list[Any], settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "AGREEMENT_MINUTES": 5, "NEGOTIATION_MINUTES": 2}
    script.append(accept())
    with clock(1_790_000_000):
        answer = Buyer().begin()
    assert answer["expires"] == 1_790_000_000 + 120
    assert answer["agreement"]["expires"] == 1_790_000_000 + 300


def test_accepting_names_the_round_whose_price_it_takes(script: list[Any]) -> None:
    buyer = Buyer()
    script += [counter(95), counter(90)]
    buyer.begin()
    buyer.offer("85.00")
    stale = refused(buyer.accept, 1)
    assert (stale.code, stale.status, stale.extra["round"]) == ("negotiation_changed", 409, 2)
    assert stale.extra["negotiation"] == buyer.show()
    assert refused(buyer.accept, 3).code == "negotiation_changed"
    agreed = buyer.accept(2)
    assert (agreed["state"], agreed["agreement"]["price"]) == ("accepted", "90.00")
    assert agreed["offer"] == {"by": "site", "price": "90.00"}
    assert buyer.accept(2) == agreed, "a lost answer is given again"
    assert Agreement.objects.count() == 1


@pytest.mark.parametrize("end", ["accepted", "rejected", "expired"])
def test_what_is_over_takes_no_move(script: list[Any], end: str) -> None:
    buyer = Buyer()
    script.append(counter(95))
    with clock() as time:
        buyer.begin()
        if end == "accepted":
            buyer.accept(1)
        elif end == "rejected":
            assert buyer.reject()["state"] == "rejected"
        else:
            time.forward(15 * 60)
        tries = [(buyer.offer, "85.00"), (buyer.accept, 2)]
        tries += [] if end == "rejected" else [(buyer.reject,)]  # type: ignore[list-item]
        for move, *arguments in tries:
            error = refused(move, *arguments)
            assert (error.code, error.status, error.extra["state"]) == ("negotiation_closed", 409, end)
        assert buyer.show()["state"] == end
    assert Agreement.objects.count() == (end == "accepted")


def test_rejecting_twice_is_rejecting_once(script: list[Any]) -> None:
    buyer = Buyer()
    script.append(counter(95, "a note"))
    buyer.begin()
    assert buyer.reject() == buyer.reject()
    assert "note" not in buyer.show()


@pytest.mark.parametrize(
    ("price", "reason"),
    [
        ("79.99", "fell"),
        ("85.001", "precision"),
        ("1e2", "format"),
        (None, "format"),
        (85.5, "float"),
        ("-85", "range"),
        ("0", "range"),
        ([], "format"),
    ],
)
def test_an_offer_that_is_none_or_falls_takes_no_round(script: list[Any], price: Any, reason: str) -> None:
    buyer = Buyer()
    script.append(counter(95))
    before = buyer.begin("80.00")
    error = refused(buyer.offer, price)
    assert (error.code, error.status, error.field) == ("offer_invalid", 422, "offer")
    assert error.extra["reason"] == reason
    assert buyer.show() == before


def test_after_the_last_round_the_buyer_can_only_accept_or_go(script: list[Any], settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "NEGOTIATION_ROUNDS": 2}
    buyer = Buyer()
    script += [counter(95), counter(94)]
    assert buyer.begin()["rounds_left"] == 1
    assert buyer.offer(81)["rounds_left"] == 0
    error = refused(buyer.offer, 82)
    assert (error.code, error.extra["reason"]) == ("offer_invalid", "rounds")
    assert buyer.accept(2)["agreement"]["price"] == "94.00"


def test_an_offer_that_reaches_what_the_site_asks_for_is_agreed_upon_at_that(script: list[Any]) -> None:
    buyer = Buyer()
    script.append(counter("95.00"))
    buyer.begin()
    agreed = buyer.offer("99.00")
    assert (agreed["state"], agreed["agreement"]["price"], agreed["round"]) == ("accepted", "95.00", 1)


def test_a_counter_that_the_offer_reaches_is_agreed_upon_at_once_at_the_lower_price(
    script: list[Any],
) -> None:
    script.append(counter("75.00"))
    agreed = Buyer().begin("80.00")
    assert (agreed["state"], agreed["agreement"]["price"]) == ("accepted", "75.00")


def test_the_sites_price_may_not_rise(script: list[Any], caplog: pytest.LogCaptureFixture) -> None:
    buyer = Buyer()
    script += [counter(90), counter(95)]
    buyer.begin()
    assert buyer.offer(85)["offer"]["price"] == "90.00"
    assert "its former price stays" in caplog.text


def test_the_site_may_end_it_with_a_word(script: list[Any]) -> None:
    buyer = Buyer()
    script.append(reject("Not for sale."))
    answer = buyer.begin()
    assert (answer["state"], answer["note"]) == ("rejected", "Not for sale.")
    assert answer["offer"] == {"by": "buyer", "price": "80.00"}


def test_the_same_offer_again_takes_no_round_and_asks_nobody(script: list[Any]) -> None:
    buyer = Buyer()
    script += [counter(95), counter(92)]
    first = buyer.begin("80.00")
    assert buyer.begin("80.00") == first
    assert buyer.offer("80.00") == first
    second = buyer.offer("85.00")
    assert buyer.offer("85.00") == second
    assert len(negotiators.seen) == 2


def test_a_negotiator_that_crashes_leaves_the_offer_open_to_be_sent_again(
    script: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    buyer = Buyer()
    script += [RuntimeError("hunter2"), counter(95), RuntimeError("again"), counter(90)]
    error = refused(buyer.begin, "80.00")
    assert (error.code, error.status) == ("handler_error", 500)
    assert "hunter2" in caplog.text
    assert "hunter2" not in error.message
    buyer.id = Negotiation.objects.get().pk
    assert (buyer.show()["state"], buyer.show()["offer"]) == ("open", {"by": "buyer", "price": "80.00"})
    assert refused(buyer.accept, 1).code == "negotiation_changed"
    assert buyer.begin("80.00")["state"] == "countered"
    assert refused(buyer.offer, "85.00").code == "handler_error"
    assert refused(buyer.offer, "86.00").code == "negotiation_changed"
    answer = buyer.offer("85.00")
    assert (answer["state"], answer["round"], answer["offer"]["price"]) == ("countered", 2, "90.00")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "not a NoneType"),
        ("85.00", "not a str"),
        (counter(85.5), "float"),
        (counter("85.005"), "never rounded"),
        (counter(-1), "more than 0"),
        (counter(90, "x" * 201), "200 characters"),
        (reject(None), "200 characters"),  # type: ignore[arg-type]
    ],
    ids=["none", "text", "float", "precise", "negative", "long", "no note"],
)
def test_an_answer_that_is_none_is_the_sites_mistake_and_in_its_log(
    script: list[Any], answer: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    script.append(answer)
    assert refused(Buyer().begin).code == "handler_error"
    assert said in caplog.text


def test_what_the_negotiator_refuses_reaches_the_buyer_and_ends_it(script: list[Any]) -> None:
    buyer = Buyer()
    script += [AgentError("product_not_found", "No such product.", field="terms", password="hunter2")]
    error = refused(buyer.begin)
    assert (error.code, error.status, error.field) == ("product_not_found", 409, "terms")
    assert "password" not in error.extra
    assert Negotiation.objects.get().state == "rejected"


def test_a_negotiator_that_asks_to_come_again_ends_nothing(script: list[Any]) -> None:
    buyer = Buyer()
    script += [AgentError("supplier_away", "Later.", retry_after=5), accept()]
    assert refused(buyer.begin).retry_after == 5
    assert buyer.begin()["state"] == "accepted"


def test_an_async_negotiator_is_awaited(script: list[Any], settings: Any) -> None:
    settings.AGENTWEB = {
        **settings.AGENTWEB,
        "NEGOTIATOR": "tests.negotiation.negotiators.scripted_later",
    }
    script.append(accept())
    assert Buyer().begin()["state"] == "accepted"


def test_one_negotiation_is_open_for_the_same_terms_at_a_time(script: list[Any]) -> None:
    buyer = Buyer()
    script += [counter(95), counter(94), counter(93), counter(92)]
    first = buyer.begin("80.00")
    error = refused(lambda: buyer.begin("81.00", terms=dict(reversed(TERMS.items()))))
    assert (error.code, error.status, error.extra["negotiation"]) == ("conflict", 409, first)
    assert buyer.begin(terms={**TERMS, "quantity": 3})["state"] == "countered"
    assert Buyer().begin("81.00")["state"] == "countered", "another grant, another buyer"
    buyer.id = first["id"]
    buyer.reject()
    assert buyer.begin("82.00")["round"] == 1


def test_one_that_is_over_makes_room_for_the_next(script: list[Any]) -> None:
    buyer = Buyer()
    script += [counter(95), counter(94)]
    with clock() as time:
        first = buyer.begin()
        time.forward(15 * 60)
        assert buyer.begin("81.00")["id"] != first["id"]
    assert Negotiation.objects.get(pk=first["id"]).state == "expired"


def test_only_so_many_are_open_at_once(script: list[Any], settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "OPEN_NEGOTIATIONS": 2}
    buyer = Buyer()
    script += [counter(95), counter(95), counter(95)]
    for number in (1, 2):
        buyer.begin(terms={"n": number})
    error = refused(lambda: buyer.begin(terms={"n": 3}))
    assert (error.code, error.retry_after) == ("rate_limited", 60)
    buyer.reject()
    assert buyer.begin(terms={"n": 3})["state"] == "countered"


def test_somebody_elses_negotiation_does_not_exist(script: list[Any]) -> None:
    buyer, other, again = Buyer(), Buyer(agent=seed(9)), Buyer()
    script.append(counter(95))
    buyer.begin()
    for stranger in (other, again):
        stranger.id = buyer.id
        for move in (stranger.show, stranger.reject, lambda each=stranger: each.accept(1)):
            assert (refused(move).code, refused(move).status) == ("not_found", 404)
    buyer.id = "ng_" + "x" * 200
    assert refused(buyer.show).code == "not_found"


def test_what_was_over_long_ago_is_deleted_and_what_is_over_is_closed(script: list[Any]) -> None:
    script += [counter(95), counter(95)]
    with clock() as time:
        Buyer().begin()
        time.forward(3_600)
        Buyer().begin()
        time.forward(3_600)
        at = now_datetime()
        assert moves.clear(at, at - timedelta(seconds=5_400)) == 1
        assert [row.state for row in Negotiation.objects.all()] == ["expired"]
