"""Limits: exact, truthful about when to come again, and the same in every process."""

from __future__ import annotations

import pytest
from django.db import connection

from agentweb.access import limits
from agentweb.access.models import Bucket
from agentweb.testing import clock
from agentweb.wire.errors import RequestError

NOON = 1_790_000_000.0


def admitted(key: str, rate: tuple[float, int], tries: int) -> int:
    return sum(1 for _ in range(tries) if not refused(key, rate))


def refused(key: str, rate: tuple[float, int]) -> RequestError | None:
    try:
        limits.take(key, rate)
    except RequestError as error:
        return error
    return None


@pytest.mark.django_db
@pytest.mark.parametrize("rate", [(1, 1), (2, 10), (20, 60), (0.5, 3), (1_000, 7)])
def test_the_burst_is_admitted_at_once_and_then_the_steady_rate(rate: tuple[float, int]) -> None:
    with clock(NOON) as time:
        assert admitted("k", rate, rate[1] + 5) == rate[1]
        for _ in range(4):
            time.forward(1 / rate[0] + 1e-6)
            assert admitted("k", rate, 3) == 1
        time.forward(rate[1] / rate[0] + 1)
        assert admitted("k", rate, rate[1] + 5) == rate[1]


@pytest.mark.django_db
@pytest.mark.parametrize("rate", [(1, 1), (0.05, 4), (20, 60), (0.3, 2), (7, 3)])
def test_a_retry_after_the_told_seconds_passes_and_one_much_earlier_does_not(rate: tuple[float, int]) -> None:
    with clock(NOON + 0.123) as time:
        admitted("k", rate, rate[1])
        error = refused("k", rate)
        assert error is not None
        assert (error.code, error.status) == ("rate_limited", 429)
        assert error.retry_after is not None
        assert error.headers["Retry-After"] == str(error.retry_after)
        assert error.as_dict()["limit"] == {"per_second": rate[0], "burst": rate[1]}
        time.forward(error.retry_after - 1)
        early = error.retry_after == 1 or refused("k", rate) is not None
        time.forward(1)
        assert early
        assert refused("k", rate) is None


@pytest.mark.django_db
def test_refused_requests_do_not_lengthen_the_wait() -> None:
    with clock(NOON) as time:
        limits.take("k", (0.1, 1))
        waits = [refused("k", (0.1, 1)) for _ in range(5)]
        assert {wait.retry_after for wait in waits if wait is not None} == {10}
        time.forward(10)
        assert refused("k", (0.1, 1)) is None


@pytest.mark.django_db
def test_keys_are_counted_apart_and_may_be_of_any_length() -> None:
    long = "action:" + "a" * 200
    assert admitted("a", (1, 2), 5) == admitted("b", (1, 2), 5) == 2
    assert admitted(long + "x", (1, 2), 5) == admitted(long + "y", (1, 2), 5) == 2
    assert max(len(key) for key in Bucket.objects.values_list("key", flat=True)) <= 100


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("203.0.113.7", "ip:203.0.113.7"),
        ("2001:db8:1:2:aaaa::1", "ip:2001:db8:1:2::/64"),
        ("2001:DB8:1:2:ffff:ffff:ffff:ffff", "ip:2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "ip:2001:db8:1:3::/64"),
        ("::ffff:203.0.113.7", "ip:203.0.113.7"),
        ("fe80::1%eth0", "ip:fe80::/64"),
        ("", "ip:unknown"),
        ("203.0.113.7, 10.0.0.1", "ip:unknown"),
        ("unix:", "ip:unknown"),
    ],
)
def test_an_address_is_counted_as_one_subscriber(address: str, key: str) -> None:
    assert limits.address_key(address) == key


@pytest.mark.django_db
def test_unsigned_calls_are_limited_by_the_setting(settings: object) -> None:
    settings.AGENTWEB = {"ANONYMOUS_RATE": (1, 3)}  # type: ignore[attr-defined]
    with clock(NOON):
        for end in range(3):
            limits.admit_anonymous(f"2001:db8::{end}")
        with pytest.raises(RequestError):
            limits.admit_anonymous("2001:db8::ffff")
        limits.admit_anonymous("2001:db8:0:1::1")


@pytest.mark.django_db
def test_what_is_left_counts_down_to_the_refusal_and_comes_back_with_time() -> None:
    with clock(NOON) as time:
        left = [limits.take("k", (2, 5)) for _ in range(5)]
        assert [each.remaining for each in left] == [4, 3, 2, 1, 0]
        assert [each.reset for each in left] == [1, 1, 2, 2, 3]
        assert {(each.quota, each.window) for each in left} == {(5, 3)}
        error = refused("k", (2, 5))
        assert error is not None
        assert error.headers == {
            "Retry-After": "1",
            "RateLimit-Policy": '"caller";q=5;w=3',
            "RateLimit": '"caller";r=0;t=3',
        }
        time.forward(1)
        assert limits.take("k", (2, 5)).remaining == 1
        time.forward(60)
        assert limits.take("k", (2, 5)).remaining == 4


@pytest.mark.django_db
@pytest.mark.parametrize(
    "rate", [(1, 1), (3, 7), (0.3, 2), (1_000_000, 1_000_000), (0.0001, 1_000_000), (7, 3.0)]
)
def test_as_many_pass_at_once_as_are_told_to_be_left(rate: tuple[float, int]) -> None:
    with clock(NOON + 0.987654) as time:
        limits.take("k", rate)
        time.forward(0.31 / rate[0])
        told = limits.take("k", rate).remaining if rate[1] > 1 else 0
        for left in range(told - 1, max(-1, told - 10), -1):
            assert limits.take("k", rate).remaining == left
        if told < 10:
            assert refused("k", rate) is not None


@pytest.mark.django_db
def test_a_database_without_returning_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    with clock(NOON):
        usual = [limits.take("a", (2, 3)) for _ in range(3)]
        monkeypatch.setattr(connection.features, "can_return_columns_from_insert", False)
        assert [limits.take("b", (2, 3)) for _ in range(3)] == usual
        assert refused("b", (2, 3)) is not None


def test_of_several_limits_the_one_with_least_left_is_told() -> None:
    one = limits.Allowance("caller", 60, 3, 7, 2)
    two = limits.Allowance("action", 10, 5, 7, 4)
    assert limits.headers_of(one, two) == {
        "RateLimit-Policy": '"caller";q=60;w=3, "action";q=10;w=5',
        "RateLimit": '"action";r=7;t=4',
    }
    assert limits.headers_of() == {}


@pytest.mark.django_db
def test_whoever_waited_long_for_the_database_is_not_refused_for_those_who_went_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    really = limits._advance
    waits = iter([10.0])

    with clock(NOON) as time:
        limits.take("k", (1, 2))

        def late(key: str, at: int, step: int, ahead: int) -> int | None:
            wait = next(waits, 0.0)
            time.forward(wait)
            if wait:
                limits.take("k", (1, 2))  # of another process, just before our turn
            return really(key, at, step, ahead)

        monkeypatch.setattr(limits, "_advance", late)
        assert limits.take("k", (1, 2)).remaining == 0
        assert refused("k", (1, 2)) is not None
