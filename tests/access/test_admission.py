"""A request takes from its limit and uses up its nonce, both or neither; on PostgreSQL by one statement."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from agentweb.access import admission, limits
from agentweb.access.limits import Allowance
from agentweb.access.models import Bucket, Nonce
from agentweb.testing import clock
from agentweb.wire.errors import AgentError

pytestmark = pytest.mark.django_db(transaction=True)

NOON = 1_790_000_000.0
RATE = (1.0, 3)


def admit(nonce: str) -> Allowance:
    return admission.admit("b", RATE, limits.CALLER, key="k", nonce=nonce * 22, expires=NOON + 60)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(AgentError) as caught:
        call()
    return caught.value.code


def state() -> tuple[list[int], set[str]]:
    return list(Bucket.objects.values_list("tat", flat=True)), {row.nonce[0] for row in Nonce.objects.all()}


def test_each_nonce_takes_one_request_and_the_rest_is_told() -> None:
    with clock(NOON):
        assert [admit(nonce).remaining for nonce in "abc"] == [2, 1, 0]
    assert state() == ([int((NOON + 3) * 1e6)], {"a", "b", "c"})
    assert {row.expires_at.timestamp() for row in Nonce.objects.all()} == {NOON + 120}


def test_a_replay_takes_nothing() -> None:
    with clock(NOON):
        admit("a")
        before = state()
        assert refused(lambda: admit("a")) == "request_replayed"
        assert state() == before


def test_where_the_limit_is_used_up_the_nonce_is_not() -> None:
    with clock(NOON) as time:
        for nonce in "abc":
            admit(nonce)
        before = state()
        assert refused(lambda: admit("d")) == refused(lambda: admit("a")) == "rate_limited"
        assert state() == before
        time.forward(1)
        admit("d")


def test_postgresql_is_asked_once() -> None:
    with clock(NOON):
        admit("a")
        with CaptureQueriesContext(connection) as queries:
            admit("b")
    texts = [query["sql"] for query in queries]
    assert len(texts) == (1 if connection.vendor == "postgresql" else 4), texts


def test_a_transaction_around_it_which_could_forget_the_nonce_is_refused() -> None:
    with clock(NOON):
        admit("a")
        with pytest.raises(RuntimeError), transaction.atomic():
            admit("b")
    assert state()[1] == {"a"}
