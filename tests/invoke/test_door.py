"""The door: the order of checks, what commits together, and what a caller learns of a failure."""

from __future__ import annotations

import asyncio
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied, ValidationError
from django.db import IntegrityError, OperationalError, connection, transaction
from django.http import Http404
from django.test.utils import CaptureQueriesContext
from django.utils.translation import gettext_lazy

from agentweb import AgentError, action
from agentweb.catalog.registry import registry
from agentweb.invoke.calls import Call
from agentweb.invoke.door import invoke
from agentweb.models import AuditEntry, IdempotencyRecord, Mandate, Receipt
from agentweb.signals import action_invoked, receipt_issued
from tests.site.models import Note, Stock
from tests.support.calls import agent_caller, answer, call_of, caller_with, chain_of, do


@dataclass
class Late:
    hour: int

    def __post_init__(self) -> None:
        if self.hour > 22:
            raise ValidationError({"hour": "We close at 22."})


pytestmark = pytest.mark.django_db(transaction=True)
KEY = "intent-0123456789"
EMPTY = {"type": "object", "additionalProperties": False}


@pytest.fixture
def site_key() -> None:
    from agentweb.access import site_keys

    site_keys.ensure_active_key()


def refused(name: str, value: Any, caller: Any = None, **more: Any) -> AgentError:
    with pytest.raises(AgentError) as caught:
        do(name, value, caller, **more)
    return caught.value


def test_an_open_read_runs_for_an_anonymous_caller_and_leaves_no_row() -> None:
    with CaptureQueriesContext(connection) as queries:
        assert answer(do("echo", {"text": "hello"})) == {"text": "hello"}
    assert len(queries) == 0
    assert AuditEntry.objects.count() == 0


def test_a_read_by_a_known_caller_is_audited_with_a_digest_and_never_the_input() -> None:
    caller = agent_caller()
    do("echo", {"text": "a private word"}, caller)
    [row] = AuditEntry.objects.all()
    assert (row.action, row.outcome, row.status, row.subject) == ("echo", "ok", 200, caller.subject)
    assert row.grant == caller.grant.id
    assert row.input_digest.startswith("sha256:")
    assert "private" not in json.dumps(row.__dict__, default=str)


def test_a_write_without_a_grant_is_refused_before_its_input_is_read() -> None:
    def explode() -> Any:
        raise AssertionError("the input was read before the grant was checked")

    call = call_of("write_note", {"text": "x"})
    blind = Call(**{**{name: getattr(call, name) for name in call.__slots__}, "read_input": explode})
    with pytest.raises(AgentError) as caught:
        invoke(blind)
    assert caught.value.code == "grant_required"


def test_a_missing_scope_is_told_before_the_input_is_validated() -> None:
    error = refused("write_note", {"nonsense": 1}, agent_caller(scopes=["cart:write"]))
    assert error.code == "insufficient_scope"
    assert AuditEntry.objects.get().outcome == "insufficient_scope"


def test_every_problem_of_the_input_is_listed_and_the_handler_does_not_run() -> None:
    error = refused("write_note", {"text": 5, "extra": True, "more": 1}, agent_caller(), key=KEY)
    assert error.code == "invalid_input"
    assert [(problem["pointer"], problem["code"]) for problem in error.problems or []] == [
        ("/extra", "unknown_field"),
        ("/more", "unknown_field"),
        ("/text", "type"),
    ]
    assert not Note.objects.exists()
    assert not IdempotencyRecord.objects.exists()


def test_a_write_commits_with_its_audit_row_and_its_kept_answer() -> None:
    outcome = do("write_note", {"text": "tea"}, agent_caller(), key=KEY)
    note = Note.objects.get()
    assert answer(outcome) == {"id": note.pk, "text": "tea"}
    record = IdempotencyRecord.objects.get()
    assert (record.state, record.status, record.body) == ("done", 200, outcome.body.decode())
    assert AuditEntry.objects.get().outcome == "ok"


def test_a_repeated_key_answers_the_same_bytes_and_runs_nothing() -> None:
    caller = agent_caller()
    first = do("write_note", {"text": "tea"}, caller, key=KEY)
    second = do("write_note", {"text": "tea"}, caller, key=KEY)
    assert (first.replayed, second.replayed) == (False, True)
    assert first.body == second.body
    assert Note.objects.count() == 1
    assert [row.outcome for row in AuditEntry.objects.order_by("id")] == ["ok", "replayed"]


def test_a_key_used_for_another_input_is_refused_also_while_the_first_is_running() -> None:
    caller = agent_caller()
    do("write_note", {"text": "tea"}, caller, key=KEY)
    assert refused("write_note", {"text": "coffee"}, caller, key=KEY).code == "idempotency_key_reused"
    IdempotencyRecord.objects.update(state="running")
    assert refused("write_note", {"text": "coffee"}, caller, key=KEY).code == "idempotency_key_reused"
    error = refused("write_note", {"text": "tea"}, caller, key=KEY)
    assert (error.code, error.status, error.retry_after) == ("idempotency_in_progress", 409, 1)


def test_equal_json_is_the_same_input_however_it_was_written() -> None:
    caller = agent_caller()
    do("write_note", {"text": "tea"}, caller, key=KEY)
    assert do("write_note", json.loads('{"text": "\\u0074ea"}'), caller, key=KEY).replayed


def test_another_agent_with_the_same_key_runs_its_own_call() -> None:
    from tests.support.calls import seed

    do("write_note", {"text": "tea"}, agent_caller(), key=KEY)
    outcome = do("write_note", {"text": "tea"}, agent_caller(agent=seed(8)), key=KEY)
    assert not outcome.replayed
    assert Note.objects.count() == 2


def test_a_kept_answer_ends_and_then_the_key_is_new() -> None:
    from agentweb.testing import clock

    with clock() as time:
        caller = agent_caller(expires_in=40 * 86_400)
        do("write_note", {"text": "tea"}, caller, key=KEY)
        time.forward(8 * 86_400)
        assert not do("write_note", {"text": "tea"}, caller, key=KEY).replayed


@pytest.mark.parametrize("key", ["short", "has a blank in the middle", "ünicode-key-0123456789", "x" * 256])
def test_a_malformed_key_is_refused(key: str) -> None:
    assert refused("write_note", {"text": "tea"}, agent_caller(), key=key).code == "idempotency_key_invalid"


def test_a_refusal_of_the_handler_takes_back_its_writes_and_is_kept_as_the_answer() -> None:
    caller = agent_caller()
    first = refused("write_and_refuse", {"text": "tea"}, caller, key=KEY)
    second = refused("write_and_refuse", {"text": "tea"}, caller, key=KEY)
    assert not Note.objects.exists()
    for error in (first, second):
        assert (error.code, error.status, error.field, error.extra["left"]) == (
            "out_of_stock",
            409,
            "text",
            3,
        )
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert second.as_dict("rq_other")["request_id"] == IdempotencyRecord.objects.get().request_id
    assert [row.outcome for row in AuditEntry.objects.order_by("id")] == ["out_of_stock", "replayed"]


@pytest.mark.parametrize("key", [KEY, None])
def test_a_crash_takes_back_everything_frees_the_key_and_says_nothing_internal(
    key: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "agentweb.invoke"):
        error = refused("write_and_crash", {"text": "tea"}, agent_caller(), key=key)
    assert (error.code, error.status) == ("handler_error", 500)
    assert "hunter2" not in json.dumps(error.as_dict("rq_1"))
    assert "hunter2" in caplog.text
    assert not Note.objects.exists()
    assert not IdempotencyRecord.objects.exists()
    assert [row.outcome for row in AuditEntry.objects.all()] == ["handler_error"]


def fail_with(error: Exception, *, effect: str, key: str | None = KEY) -> AgentError:
    """Declare an action that writes a note and raises, and call it."""

    def handler(inp: Any, ctx: Any) -> None:
        Note.objects.create(text="work")
        raise error

    with registry.only():
        action("fail", effect=effect, scope="notes:write", description="Fail.", input={"type": "object"})(
            handler
        )
        return refused("fail", {}, agent_caller(), key=key)


@pytest.mark.parametrize("effect", ["write", "read"])
@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Http404("no row in table secrets"), 404, "not_found"),
        (PermissionDenied("of the secrets"), 403, "not_allowed"),
        (ValidationError("Too late."), 422, "invalid_input"),
        (Note.DoesNotExist("no row"), 500, "handler_error"),
    ],
)
def test_what_a_django_view_may_raise_is_a_refusal_of_the_handler_too(
    effect: str, error: Exception, status: int, code: str
) -> None:
    found = fail_with(error, effect=effect)
    assert (found.status, found.code) == (status, code)
    assert "secrets" not in json.dumps(found.as_dict("rq_1"))
    if effect == "write":
        assert not Note.objects.exists()
        assert IdempotencyRecord.objects.filter(state="done").exists() is (status < 500)
        again = fail_with(RuntimeError("ran again"), effect=effect)
        assert (again.code, "Idempotent-Replayed" in again.headers) == (
            ("handler_error", False) if status == 500 else (code, True)
        )


def test_the_messages_of_a_validation_error_are_problems_with_pointers() -> None:
    error = ValidationError(
        {
            "price": [
                ValidationError("At most %(most)s.", code="max_value", params={"most": 5}),
                "Not that.",
            ],
            NON_FIELD_ERRORS: ["The shop is closed."],
        }
    )
    found = fail_with(error, effect="write")
    assert [(each["pointer"], each["code"], each["message"]) for each in found.problems or []] == [
        ("", "invalid", "The shop is closed."),
        ("/price", "invalid", "Not that."),
        ("/price", "max_value", "At most 5."),
    ]


def test_a_type_of_the_site_may_refuse_a_value_while_it_is_made() -> None:
    def handler(inp: Late, ctx: Any) -> None: ...

    with registry.only():
        action("late", effect="write", scope="notes:write", description="Late.")(handler)
        error = refused("late", {"hour": 23}, agent_caller(), key=KEY)
    assert (error.status, (error.problems or [])[0]["pointer"]) == (422, "/hour")


def test_a_result_that_is_not_json_is_the_sites_fault_and_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = refused("write_and_return_a_row", {"text": "tea"}, agent_caller(), key=KEY)
    assert error.code == "handler_error"
    assert "Note" in caplog.text
    assert not Note.objects.exists()


def test_members_named_like_secrets_are_removed_from_results(caplog: pytest.LogCaptureFixture) -> None:
    result = answer(do("leak", {"text": "x"}, agent_caller()))
    assert result == {"name": "ada", "nested": [{"tokens_used": 3}]}
    assert "hunter2" not in caplog.text


def test_an_async_handler_commits_like_any_other() -> None:
    assert (
        answer(do("write_note_async", {"text": "tea"}, agent_caller(), key=KEY))["id"]
        == Note.objects.get().pk
    )


def test_a_passing_outage_of_the_database_is_503_and_frees_the_key() -> None:
    def locked(_inp: Any, ctx: Any) -> None:
        error = OperationalError("database is locked")
        error.__cause__ = type("Cause", (Exception,), {"sqlite_errorname": "SQLITE_BUSY"})()
        raise error

    with registry.only():
        action("locked", effect="write", scope="notes:write", description="Locked.")(locked)
        error = refused("locked", {}, agent_caller(), key=KEY)
    assert (error.code, error.status, error.retry_after) == ("unavailable", 503, 1)
    assert not IdempotencyRecord.objects.exists()


def test_a_spend_needs_an_idempotency_key(site_key: None) -> None:
    caller = agent_caller(spending="USD:50.00/200.00")
    assert (
        refused("pay", {"item": "tea", "price": Decimal("19.99")}, caller).code == "idempotency_key_required"
    )


def test_a_spend_debits_the_mandate_and_issues_a_receipt_with_the_promised_id(site_key: None) -> None:
    caller = agent_caller(spending="USD:50.00/200.00")
    outcome = do("pay", {"item": "tea", "price": Decimal("19.99")}, caller, key=KEY)
    [document] = outcome.receipts
    assert answer(outcome) == {"receipt": document["id"]}
    assert (document["amount"], document["currency"], document["item"]) == ("19.99", "USD", "tea")
    assert (Mandate.objects.get().spent, Mandate.objects.get().uses) == (1_999, 1)
    assert Receipt.objects.get().amount == 1_999


def test_a_refusal_after_a_charge_gives_the_money_back(site_key: None) -> None:
    caller = agent_caller(spending="USD:50.00/200.00")
    assert (
        refused("pay_and_refuse", {"item": "tea", "price": Decimal("19.99")}, caller, key=KEY).code
        == "closed"
    )
    assert (Mandate.objects.filter(spent__gt=0).count(), Receipt.objects.count()) == (0, 0)


def test_a_charge_over_the_sites_own_declared_cost_is_the_sites_fault(site_key: None) -> None:
    caller = agent_caller(spending="USD:50.00/200.00")
    error = refused("overcharge", {"text": "tea"}, caller, key=KEY)
    assert (error.code, error.status, error.extra) == ("cost_mismatch", 500, {})
    assert (Mandate.objects.filter(spent__gt=0).count(), Receipt.objects.count()) == (0, 0)


def test_the_site_hears_of_calls_and_receipts_after_the_commit(site_key: None) -> None:
    heard: list[tuple[str, Any]] = []

    def on_call(sender: Any, **said: Any) -> None:
        heard.append(("call", (sender, said["outcome"], said["status"])))
        raise RuntimeError("a receiver of the site fails")

    def on_receipt(sender: Any, receipt: Any, **_: Any) -> None:
        heard.append(("receipt", Receipt.objects.get(pk=receipt["id"]).item))

    action_invoked.connect(on_call)
    receipt_issued.connect(on_receipt)
    try:
        do("pay", {"item": "tea", "price": Decimal("1")}, agent_caller(spending="USD:5.00/20.00"), key=KEY)
    finally:
        action_invoked.disconnect(on_call)
        receipt_issued.disconnect(on_receipt)
    assert heard == [("receipt", "tea"), ("call", ("pay", "ok", 200))]


def test_a_one_time_grant_is_used_by_the_first_success_and_still_replays(site_key: None) -> None:
    caller = agent_caller(one_time=True)
    refused("write_and_refuse", {"text": "x"}, caller, key="first-0123456789ab")
    done = do("write_note", {"text": "tea"}, caller, key=KEY)
    assert do("write_note", {"text": "tea"}, caller, key=KEY).body == done.body
    error = refused("write_note", {"text": "more"}, caller, key="other-0123456789ab")
    assert (error.code, error.status) == ("grant_used", 403)
    assert Note.objects.count() == 1


def test_a_call_costs_a_bounded_number_of_queries(site_key: None) -> None:
    caller = agent_caller(spending="USD:50.00/200.00")
    do("pay", {"item": "tea", "price": Decimal("1")}, caller, key="warm-0123456789abcdef")
    counts = {}
    for name, value, key in [
        ("echo", {"text": "x"}, None),
        ("write_note", {"text": "x"}, None),
        ("write_note", {"text": "x"}, "count-0123456789abcdef"),
        ("pay", {"item": "tea", "price": Decimal("1")}, "count-0123456789abcdef"),
    ]:
        with CaptureQueriesContext(connection) as queries:
            do(name, value, caller, key=key)
        counts[name, key is not None] = len(
            [
                q
                for q in queries.captured_queries
                if not q["sql"].startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"))
            ]
        )
    # echo: audit. write: on SQLite the right to, note, audit. With a key: claim, fence, note, keep, audit.
    # pay: claim, site key, fence, use, look, debit, look again, head, receipt, parties, head, keep, audit.
    assert counts == {
        ("echo", False): 1,
        ("write_note", False): 3 if connection.vendor == "sqlite" else 2,
        ("write_note", True): 5,
        ("pay", True): 13,
    }


def test_a_child_cannot_spend_more_than_its_parent_has_left(site_key: None) -> None:
    from agentweb.testing import mandate
    from tests.support.calls import attenuate, seed

    parent = chain_of(spending="USD:50.00/60.00", delegate=1)
    child = attenuate(parent, seed(7), subject=seed(9).public, mandate=mandate("USD:40.00/60.00"), delegate=0)
    do("pay", {"item": "tea", "price": Decimal("30")}, caller_with(parent), key="parent-0123456789abc")
    error = refused(
        "pay", {"item": "tea", "price": Decimal("40")}, caller_with(child), key="child-0123456789abcd"
    )
    assert (error.code, error.extra["limit"], error.extra["remaining"]) == (
        "mandate_exceeded",
        "total",
        "30.00",
    )
    do("pay", {"item": "tea", "price": Decimal("30")}, caller_with(child), key="child2-0123456789abc")
    assert sorted(Mandate.objects.values_list("spent", flat=True)) == [3_000, 6_000]


def test_an_integer_that_no_double_holds_is_an_input_like_any_other() -> None:
    with registry.only():
        action(
            "count",
            effect="write",
            scope="notes:write",
            description="Take a number.",
            input={"type": "object", "properties": {"n": {"type": "integer"}}},
        )(lambda inp, ctx: inp)
        caller = agent_caller()
        first = do("count", {"n": 9007199254740993}, caller, key=KEY)
        again = do("count", {"n": 9007199254740993}, caller, key=KEY)
        assert (answer(first), again.replayed) == ({"n": 9007199254740993}, True)
        assert refused("count", {"n": 2**60}, caller, key=KEY).code == "idempotency_key_reused"


def test_members_of_a_refusal_are_published_like_a_result() -> None:
    def refuse(inp: Any, ctx: Any) -> None:
        raise AgentError("not_yet", "Come back later.", password="hunter2", when=date(2026, 11, 29))

    def odd(inp: Any, ctx: Any) -> None:
        raise AgentError("not_yet", "Come back later.", thing=object())

    with registry.only():
        action("refuse", effect="write", scope="notes:write", description="Refuse.", input=EMPTY)(refuse)
        action("odd", effect="write", scope="notes:write", description="Refuse oddly.", input=EMPTY)(odd)
        assert refused("refuse", {}, agent_caller(), key=KEY).extra == {"when": "2026-11-29"}
        assert refused("odd", {}, agent_caller(), key=KEY).code == "handler_error"


def spend(handler: Any) -> Any:
    return action(
        "till",
        effect="spend",
        scope="shop:pay",
        description="Take money.",
        cost={"amount": 5, "currency": "USD"},
        input=EMPTY,
    )(handler)


def swallow_an_error(inp: Any, ctx: Any) -> Any:
    ctx.charge(5, "USD", item="tea")
    Stock.objects.create(name="tea", left=1)
    with suppress(IntegrityError):
        Stock.objects.create(name="tea", left=2)
    return {"charged": True}


def undo_the_charge(inp: Any, ctx: Any) -> Any:
    try:
        with transaction.atomic():
            ctx.charge(5, "USD", item="tea")
            raise KeyError("tea")
    except KeyError:
        return {"charged": False}


def roll_back(inp: Any, ctx: Any) -> Any:
    ctx.charge(5, "USD", item="tea")
    transaction.set_rollback(True)
    return {"charged": True}


def charge_from_a_thread(inp: Any, ctx: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ctx.charge, 5, "USD", item="tea").result()


@pytest.mark.parametrize("handler", [swallow_an_error, undo_the_charge, roll_back, charge_from_a_thread])
def test_no_half_of_a_spend_is_ever_committed(site_key: None, handler: Any) -> None:
    with registry.only():
        spend(handler)
        error = refused("till", {}, agent_caller(spending="USD:50.00/200.00"), key=KEY)
    assert (error.code, error.status) == ("handler_error", 500)
    assert not Mandate.objects.filter(spent__gt=0).exists()
    assert not Receipt.objects.exists()
    assert not Stock.objects.exists()
    assert not IdempotencyRecord.objects.exists()


def test_a_context_kept_from_an_earlier_call_charges_nothing(site_key: None) -> None:
    kept: list[Any] = []
    with registry.only():
        spend(lambda inp, ctx: kept.append(ctx))
        do("till", {}, agent_caller(spending="USD:50.00/200.00"), key=KEY)
    with pytest.raises(RuntimeError, match="while its handler runs"):
        kept[0].charge(5, "USD", item="tea")
    assert not Mandate.objects.filter(spent__gt=0).exists()


def test_a_callback_that_fails_after_the_commit_does_not_unsay_what_was_done(
    site_key: None, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Any] = []

    def mail_fails(inp: Any, ctx: Any) -> Any:
        transaction.on_commit(lambda: 1 / 0)
        return {"receipt": ctx.charge(5, "USD", item="tea")["id"]}

    def on_receipt(sender: Any, receipt: Any, **_: Any) -> None:
        heard.append(receipt["id"])

    receipt_issued.connect(on_receipt)
    try:
        with registry.only():
            spend(mail_fails)
            outcome = do("till", {}, agent_caller(spending="USD:50.00/200.00"), key=KEY)
    finally:
        receipt_issued.disconnect(on_receipt)
    assert [answer(outcome)["receipt"]] == heard == [Receipt.objects.get().pk]
    assert "ZeroDivisionError" in caplog.text
    assert [row.outcome for row in AuditEntry.objects.all()] == ["ok"]


def test_come_again_is_no_final_answer() -> None:
    def busy(inp: Any, ctx: Any) -> None:
        raise AgentError("rate_limited", "Too many letters today.", status=429, retry_after=5)

    with registry.only():
        action("busy", effect="write", scope="notes:write", description="Busy.", input=EMPTY)(busy)
        for _ in range(2):
            error = refused("busy", {}, agent_caller(), key=KEY)
            assert (error.status, error.retry_after, error.headers.get("Idempotent-Replayed")) == (
                429,
                5,
                None,
            )
    assert not IdempotencyRecord.objects.exists()


def raise_lazy(inp: Any, ctx: Any) -> None:
    raise AgentError("closed", gettext_lazy("Yes"))  # type: ignore[arg-type]


def raise_odd_member(inp: Any, ctx: Any) -> None:
    error = AgentError("closed", "Closed.")
    error.extra["status"] = "shut"
    raise error


@pytest.mark.parametrize("handler", [raise_lazy, raise_odd_member])
def test_a_refusal_is_answered_alike_the_first_time_and_again(handler: Any) -> None:
    with registry.only():
        action("odd", effect="write", scope="notes:write", description="Odd.", input=EMPTY)(handler)
        caller = agent_caller()
        first, second = (refused("odd", {}, caller, key=KEY).as_dict("rq_1") for _ in range(2))
    first["request_id"] = second["request_id"]
    assert first == second


@pytest.mark.parametrize(
    "error",
    [
        AgentError("odd", "Odd.", bad=float("nan")),
        AgentError("odd", "Odd.", headers={"X": "a\r\nSet-Cookie: b"}),
        AgentError("odd", "Odd.", problems=["text"]),  # type: ignore[list-item]
        SystemExit(1),
        asyncio.CancelledError(),
        GeneratorExit(),
    ],
)
def test_whatever_a_handler_raises_is_a_refusal_or_a_crash(error: BaseException) -> None:
    def fail(inp: Any, ctx: Any) -> None:
        raise error

    with registry.only():
        action("fail", effect="write", scope="notes:write", description="Fail.", input=EMPTY)(fail)
        assert refused("fail", {}, agent_caller(), key=KEY).code == "handler_error"
    assert not IdempotencyRecord.objects.exists()


def test_a_text_that_is_no_key_is_kept_nowhere() -> None:
    refused("write_note", {"text": "tea"}, agent_caller(scopes=["cart:write"]), key="y" * 40_000)
    assert AuditEntry.objects.get().idempotency_key == ""
