"""A handler that ends its transaction by hand: stopped, or found out, and never half a charge without a word."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.db import connection, transaction

from agentweb import AgentError, action
from agentweb.catalog.registry import registry
from agentweb.invoke.transactions import EndedByHand, undivided
from agentweb.models import AuditEntry, IdempotencyRecord, Mandate, Receipt
from tests.site.models import Note
from tests.support.calls import agent_caller, answer, do

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "intent-0123456789"
EMPTY = {"type": "object", "additionalProperties": False}


@pytest.fixture(autouse=True)
def site_key() -> None:
    from agentweb.access import site_keys

    site_keys.ensure_active_key()


def ends_by(end: Any, *, swallow: bool = False) -> None:
    @action(
        effect="spend",
        scope="shop:pay",
        cost={"currency": "USD", "amount": "1.00"},
        input=EMPTY,
        description="Pay.",
    )
    def pay(_inp: Any, ctx: Any) -> Any:
        Note.objects.create(text="before")
        ctx.charge("1.00", "USD", item="tea")
        try:
            end()
        except EndedByHand:
            if not swallow:
                raise
        Note.objects.create(text="after")
        return {"paid": True}


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.mark.parametrize(
    "sql", ["COMMIT", "ROLLBACK", " -- done\n commit", "/* x */ END;", "rollback work", "ABORT"]
)
def test_a_statement_that_would_end_the_transaction_does_not_run(
    sql: str, caplog: pytest.LogCaptureFixture
) -> None:
    caller = agent_caller(spending="USD:5.00/5.00")
    with registry.only(), caplog.at_level(logging.ERROR):
        ends_by(lambda: run(sql))
        with pytest.raises(AgentError) as caught:
            do("pay", {}, caller, key=KEY)
    assert (caught.value.code, caught.value.status) == ("handler_error", 500)
    assert "nothing was changed" in caught.value.message
    assert "a handler cannot end its transaction" in caplog.text
    assert not Note.objects.exists()
    assert not Receipt.objects.exists()
    assert not Mandate.objects.filter(spent__gt=0).exists()
    assert not IdempotencyRecord.objects.exists()
    assert AuditEntry.objects.get().outcome == "handler_error"


def test_a_handler_that_catches_the_refusal_has_its_work_whole() -> None:
    caller = agent_caller(spending="USD:5.00/5.00")
    with registry.only():
        ends_by(lambda: run("COMMIT"), swallow=True)
        done = do("pay", {}, caller, key=KEY)
    assert answer(done) == {"paid": True}
    assert len(done.receipts) == Receipt.objects.count() == 1
    assert Note.objects.count() == 2


def by_script() -> None:
    with connection.cursor() as cursor:
        cursor.executescript("SELECT 1;")


def by_commit() -> None:
    connection.connection.commit()


def by_rollback() -> None:
    connection.connection.rollback()


def by_rollback_and_refusal() -> None:
    connection.connection.rollback()
    raise AgentError("sold_out", "Sold out.")


@pytest.mark.parametrize("end", [by_commit, by_rollback, by_rollback_and_refusal, by_script])
def test_what_goes_past_django_is_an_error_that_is_named_in_the_log(
    end: Any, caplog: pytest.LogCaptureFixture
) -> None:
    if end is by_script and connection.vendor != "sqlite":
        pytest.skip("SQLite alone has it.")
    caller = agent_caller(spending="USD:5.00/5.00")
    with registry.only(), caplog.at_level(logging.ERROR):
        ends_by(end)
        with pytest.raises(AgentError) as caught:
            do("pay", {}, caller, key=KEY)
    assert caught.value.code == "handler_error"
    assert "a part of it may have been done" in caught.value.message
    assert "pay ended its transaction by hand" in caplog.text
    assert not Receipt.objects.exists()
    # The connection is as good as before.
    assert not connection.in_atomic_block
    Note.objects.create(text="later")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'COMMIT'",
        "SELECT 1 -- COMMIT",
        "SELECT 1 AS committed",
        "ROLLBACK TO SAVEPOINT a",
        "ROLLBACK TO a",
    ],
)
def test_other_statements_run(sql: str) -> None:
    with transaction.atomic():
        run("SAVEPOINT a")
        with undivided("look"):
            run(sql)


def test_savepoints_of_django_work_inside_a_handler() -> None:
    with registry.only():

        @action(effect="write", description="Try.", scope="notes:write", input=EMPTY)
        def attempt(_inp: Any, ctx: Any) -> Any:
            for text in ("kept", "undone"):
                try:
                    with transaction.atomic():
                        Note.objects.create(text=text)
                        if text == "undone":
                            raise LookupError
                except LookupError:
                    pass
            return [note.text for note in Note.objects.all()]

        assert answer(do("attempt", {}, agent_caller())) == ["kept"]
