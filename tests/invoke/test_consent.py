"""Actions that wait for a person: what the agent is told, what an approval lets through, and what it never does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentweb import AgentError, action
from agentweb.access import approvals, site_keys
from agentweb.access.callers import Caller
from agentweb.access.models import Approval
from agentweb.catalog.registry import registry
from agentweb.invoke.door import invoke
from agentweb.invoke.models import AuditEntry, IdempotencyRecord
from agentweb.models import Mandate, Receipt
from agentweb.signals import approval_asked
from agentweb.testing import clock
from tests.site.models import Note
from tests.support.calls import answer, attenuate, call_of, caller_with, chain_of, do, seed

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "intent-0123456789"
TEXT = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {}, "password": {"type": "string"}, "price": {"type": "number"}},
    "additionalProperties": False,
}


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann")


@pytest.fixture
def ran() -> list[Any]:
    """The inputs with which a handler really ran."""
    return []


@pytest.fixture(autouse=True)
def actions(ran: list[Any]) -> Iterator[None]:
    site_keys.ensure_active_key()

    def note(inp: Any, ctx: Any) -> Any:
        ran.append(inp)
        return {"id": Note.objects.create(text=str(inp["text"])).pk}

    def pay(inp: Any, ctx: Any) -> Any:
        ran.append(inp)
        return {"receipt": ctx.charge(inp["price"], "USD", item=str(inp["text"]))["id"]}

    with registry.only():
        action("post", effect="send", scope="notes:write", description="Post.", input=TEXT, confirm="person")(
            note
        )
        action(
            "pay",
            effect="spend",
            scope="shop:pay",
            description="Pay.",
            input={**TEXT, "required": ["text", "price"]},
            cost={"field": "price", "currency": "USD"},
            confirm="person",
        )(pay)
        assert registry.faults() == []
        yield


def agent_of(user: User | None, **more: Any) -> Caller:
    return caller_with(chain_of(**more), user_id=user.pk if user else None)


def refused(name: str, value: Any, caller: Caller, **more: Any) -> AgentError:
    with pytest.raises(AgentError) as caught:
        do(name, value, caller, **more)
    return caught.value


def approved(name: str, value: Any, caller: Caller, by: User, **more: Any) -> str:
    asked = refused(name, value, caller, **more)
    assert asked.code == "needs_human"
    assert approvals.approve(asked.extra["approval"], by=by)
    return str(asked.extra["approval"])


def test_an_unapproved_call_is_answered_428_with_the_page_where_a_person_decides(
    ann: User, ran: list[Any]
) -> None:
    caller = agent_of(ann)
    with clock(1_790_000_000) as time:
        caller = agent_of(ann)
        error = refused("post", {"text": "hello"}, caller, key=KEY)
        assert (error.status, error.code, error.retry_after) == (428, "needs_human", 5)
        row = Approval.objects.get()
        assert error.extra == {
            "approval": row.id,
            "approve_url": f"https://shop.example/agent-access/approvals/{row.id}",
            "expires": int(time.now) + 600,
        }
    assert (row.user, row.subject, row.action, row.effect) == (ann, caller.subject, "post", "send")
    assert not ran
    assert not Note.objects.exists()


def test_asking_leaves_the_key_free_charges_nothing_and_is_audited(ann: User) -> None:
    caller = agent_of(ann, spending="USD:50.00/200.00")
    error = refused("pay", {"text": "tea", "price": Decimal("19.90")}, caller, key=KEY)
    assert error.extra["cost"] == {"amount": "19.90", "currency": "USD"}
    assert not IdempotencyRecord.objects.exists()
    assert not Receipt.objects.exists()
    assert not Mandate.objects.filter(spent__gt=0).exists()
    assert [(row.outcome, row.status) for row in AuditEntry.objects.all()] == [("needs_human", 428)]


def test_asking_again_finds_the_same_request_and_tells_the_person_once(ann: User) -> None:
    heard: list[Any] = []
    caller = agent_of(ann)

    def on_asking(sender: Any, approval_id: str, user_id: Any, **_: Any) -> None:
        heard.append((sender, approval_id, user_id, Approval.objects.filter(pk=approval_id).exists()))

    approval_asked.connect(on_asking)
    try:
        first, again = (refused("post", {"text": "x"}, caller, key=KEY) for _ in range(2))
        other = refused("post", {"text": "x"}, caller)
    finally:
        approval_asked.disconnect(on_asking)
    assert first.extra["approval"] == again.extra["approval"] == other.extra["approval"]
    assert heard == [("post", first.extra["approval"], ann.pk, True)]


@pytest.mark.parametrize("key", [KEY, "another-0123456789", None])
def test_after_the_approval_the_same_call_passes_once(ann: User, key: str | None) -> None:
    caller = agent_of(ann)
    ident = approved("post", {"text": "hello"}, caller, ann, key=KEY)
    assert answer(do("post", {"text": "hello"}, caller, key=key)) == {"id": Note.objects.get().pk}
    row = Approval.objects.get()
    assert (row.id, row.state, row.input) == (ident, "used", "")
    second = refused("post", {"text": "hello"}, caller, key="third-0123456789ab")
    assert second.code == "needs_human"
    assert second.extra["approval"] != ident
    assert Note.objects.count() == 1


def test_a_lost_answer_is_had_again_without_asking_anybody(ann: User) -> None:
    caller = agent_of(ann)
    approved("post", {"text": "hello"}, caller, ann, key=KEY)
    first = do("post", {"text": "hello"}, caller, key=KEY)
    again = do("post", {"text": "hello"}, caller, key=KEY)
    assert (again.replayed, again.body) == (True, first.body)
    assert Approval.objects.count() == Note.objects.count() == 1


@pytest.mark.parametrize(
    ("asked", "tried"),
    [
        ({"text": 82}, {"text": 820}),
        ({"text": 82}, {"text": "82"}),
        ({"text": 1}, {"text": True}),
        ({"text": 9007199254740992}, {"text": 9007199254740993}),
        ({"text": Decimal("0.1")}, {"text": Decimal("0.1000000000000000000001")}),
        ({"text": "a"}, {"text": "a", "password": "x"}),
        ({"text": ["a", "b"]}, {"text": ["b", "a"]}),
        ({"text": "é"}, {"text": "e\u0301"}),
    ],
)
def test_an_approval_is_for_the_exact_input(ann: User, ran: list[Any], asked: Any, tried: Any) -> None:
    caller = agent_of(ann)
    approved("post", asked, caller, ann)
    assert refused("post", tried, caller).code == "needs_human"
    assert not ran
    do("post", asked, caller)
    assert len(ran) == 1


def test_the_order_of_members_and_the_way_a_number_is_written_make_no_other_input(ann: User) -> None:
    caller = agent_of(ann)
    approved("post", {"text": {"a": Decimal("1.50"), "b": 2}}, caller, ann)
    do("post", {"text": {"b": Decimal("2.0"), "a": Decimal("1.5")}}, caller)
    assert Note.objects.count() == 1


def test_an_approval_is_for_one_agent_one_grant_and_one_action(ann: User) -> None:
    first, other_chain = agent_of(ann), chain_of()
    approved("post", {"text": "x"}, first, ann)
    assert refused("post", {"text": "x"}, agent_of(ann, agent=seed(8))).code == "needs_human"
    assert refused("post", {"text": "x"}, caller_with(other_chain, user_id=ann.pk)).code == "needs_human"
    action("post2", effect="send", scope="notes:write", description="Post.", input=TEXT, confirm="person")(
        lambda inp, ctx: None
    )
    assert refused("post2", {"text": "x"}, first).code == "needs_human"
    assert not Note.objects.exists()


def test_the_handler_gets_the_secret_that_the_page_hides(ann: User, ran: list[Any]) -> None:
    caller = agent_of(ann)
    value = {"text": "hello", "password": "hunter2"}
    approved("post", value, caller, ann)
    row = Approval.objects.get()
    assert json.loads(row.shown) == {"text": "hello", "password": "[hidden]"}
    assert "hunter2" in row.input
    do("post", value, caller)
    assert ran == [value]
    assert "hunter2" not in json.dumps(list(Approval.objects.values()), default=str)


def test_a_person_is_not_asked_about_what_would_be_refused_anyway(ann: User) -> None:
    poor = agent_of(ann, spending="USD:5.00/5.00")
    assert (
        refused("pay", {"text": "tea", "price": Decimal("19.90")}, poor, key=KEY).code == "mandate_exceeded"
    )
    assert refused("pay", {"text": "tea", "price": 1}, agent_of(ann), key=KEY).code == "mandate_required"
    assert refused("pay", {"text": "tea", "price": 1}, poor).code == "idempotency_key_required"
    assert refused("post", {"nonsense": 1}, agent_of(ann)).code == "invalid_input"
    assert refused("post", {"text": "x"}, agent_of(ann, scopes=["cart:write"])).code == "insufficient_scope"
    assert not Approval.objects.exists()


def test_a_type_of_the_site_refuses_before_a_person_is_asked(ann: User) -> None:
    @dataclass
    class Hour:
        hour: int

        def __post_init__(self) -> None:
            if self.hour > 22:
                raise ValidationError({"hour": "We close at 22."})

    def book(inp, ctx): ...  # type: ignore[no-untyped-def]

    book.__annotations__ = {"inp": Hour}
    action("book", effect="write", scope="notes:write", description="Book.", confirm="person")(book)
    assert refused("book", {"hour": 23}, agent_of(ann)).code == "invalid_input"
    assert not Approval.objects.exists()
    assert refused("book", {"hour": 22}, agent_of(ann)).code == "needs_human"


def test_asking_uses_up_no_one_time_grant(ann: User) -> None:
    caller = agent_of(ann, one_time=True)
    approved("post", {"text": "x"}, caller, ann)
    do("post", {"text": "x"}, caller)
    assert refused("post", {"text": "x"}, caller).code == "grant_used"


def test_an_approved_spend_charges_once_and_issues_its_receipt(ann: User) -> None:
    caller = agent_of(ann, spending="USD:50.00/200.00")
    value = {"text": "tea", "price": Decimal("19.90")}
    approved("pay", value, caller, ann, key=KEY)
    assert len(do("pay", value, caller, key=KEY).receipts) == 1
    assert refused("pay", value, caller, key="next-0123456789abc").code == "needs_human"
    assert Mandate.objects.get().spent == 1_990


@pytest.mark.parametrize(
    ("error", "code"), [(AgentError("closed", "Closed."), "closed"), (RuntimeError("crash"), "handler_error")]
)
def test_an_approval_stays_good_when_the_handler_did_nothing(ann: User, error: Exception, code: str) -> None:
    failing = [error]

    def handler(inp: Any, ctx: Any) -> Any:
        Note.objects.create(text="work")
        if failing:
            raise failing.pop()
        return {"done": True}

    action("try", effect="write", scope="notes:write", description="Try.", input=TEXT, confirm="person")(
        handler
    )
    caller = agent_of(ann)
    approved("try", {"text": "x"}, caller, ann)
    assert refused("try", {"text": "x"}, caller, key=KEY).code == code
    row = Approval.objects.get()
    assert (row.state, row.used_at) == ("approved", None)
    assert row.input
    assert answer(do("try", {"text": "x"}, caller, key="other-0123456789ab")) == {"done": True}
    assert Approval.objects.get().state == "used"
    assert Note.objects.count() == 1


def test_a_denied_call_is_refused_and_asks_nobody_again_for_an_hour(ann: User, ran: list[Any]) -> None:
    with clock() as time:
        caller = agent_of(ann, expires_in=10_000)
        ident = refused("post", {"text": "x"}, caller, key=KEY).extra["approval"]
        assert approvals.deny(ident, by=ann)
        for wait in (0, 3_599):
            time.forward(wait)
            error = refused("post", {"text": "x"}, caller, key=KEY)
            assert (error.status, error.code, error.retry_after) == (403, "approval_denied", None)
            assert error.extra == {"approval": ident}
        assert refused("post", {"text": "y"}, caller).code == "needs_human"
        time.forward(1)
        assert refused("post", {"text": "x"}, caller, key=KEY).code == "needs_human"
    assert not ran
    assert not IdempotencyRecord.objects.exists()


def test_an_approval_ends_and_then_the_person_is_asked_anew(ann: User, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "APPROVAL_MINUTES": 2}
    with clock() as time:
        caller = agent_of(ann)
        asked = refused("post", {"text": "x"}, caller).extra["approval"]
        time.forward(119)
        assert approvals.approve(asked, by=ann)
        time.forward(119)
        assert Approval.objects.get().state == "approved"
        time.forward(1)
        again = refused("post", {"text": "x"}, caller)
        assert again.extra["approval"] != asked
        assert Approval.objects.get(pk=asked).state == "expired"
        assert Approval.objects.get(pk=asked).input == ""
        time.forward(120)
        assert not approvals.approve(again.extra["approval"], by=ann)


def test_an_agent_cannot_flood_a_person(ann: User, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "OPEN_APPROVALS": 3}
    with clock() as time:
        chain = chain_of(delegate=1)
        child = attenuate(chain, seed(7), subject=seed(9).public, delegate=0)
        callers = [caller_with(each, user_id=ann.pk) for each in (chain, child)]
        for number in range(3):
            refused("post", {"text": number}, callers[number % 2])
            time.forward(10)
        for caller in callers:
            error = refused("post", {"text": "more"}, caller, key=KEY)
            assert (error.status, error.code, error.retry_after) == (429, "rate_limited", 570)
            assert error.extra["limit"] == {"open_approvals": 3}
        # What waits already is answered as before, and another agent of the person is not held up.
        assert refused("post", {"text": 0}, callers[0]).code == "needs_human"
        assert refused("post", {"text": "more"}, agent_of(ann, agent=seed(8))).code == "needs_human"
        approvals.approve(refused("post", {"text": 0}, callers[0]).extra["approval"], by=ann)
        assert refused("post", {"text": "more"}, callers[1]).code == "needs_human"


def test_a_call_with_an_approval_costs_one_query_more(ann: User) -> None:
    action("free", effect="send", scope="notes:write", description="Post.", input=TEXT)(
        lambda inp, ctx: {"id": Note.objects.create(text=inp["text"]).pk}
    )
    caller = agent_of(ann)
    approved("post", {"text": "x"}, caller, ann)
    counts = []
    for name in ("free", "post"):
        with CaptureQueriesContext(connection) as queries:
            do(name, {"text": "x"}, caller, key=KEY)
        counts.append(len(queries))
    assert counts[1] == counts[0] + 1


def test_the_url_follows_the_request_under_debug_only(ann: User, settings: Any, rf: Any) -> None:
    settings.AGENTWEB = {}
    for debug, origin in ((True, "http://shop.example"), (False, "https://shop.example")):
        settings.DEBUG = debug
        with pytest.raises(AgentError) as caught:
            invoke(call_of("post", {"text": "x"}, agent_of(ann), request=rf.post("/")))
        assert caught.value.extra["approve_url"].startswith(f"{origin}/agent-access/approvals/ap_")
