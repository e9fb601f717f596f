"""Limits: exact, truthful about when to come again, and the same in every process."""

from __future__ import annotations

import pytest

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
