from __future__ import annotations

import json
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentweb.client.errors import KeyStoreError
from agentweb.client.inputs import MAX_INPUT
from agentweb.client.pending import MAX_AGE, PendingCall, PendingCalls
from agentweb.wire.errors import ClientError

NOW = 1_790_000_000.0


@pytest.fixture
def calls(tmp_path: Path) -> PendingCalls:
    return PendingCalls(tmp_path / "agent.json.pending")


def begin(calls: PendingCalls, **changes: Any) -> PendingCall:
    members: dict[str, Any] = {
        "site": "shop.example",
        "action": "checkout",
        "value": {"cart": "c1", "price": 5},
        "intent": None,
        "now": NOW,
    }
    return calls.begin(**(members | changes))


def test_same_call_has_the_same_key_until_it_is_settled(calls: PendingCalls) -> None:
    first = begin(calls)
    again = begin(calls, now=NOW + 60)
    assert (first.is_resumed, again.is_resumed) == (False, True)
    assert again.key == first.key
    assert again.created == NOW
    calls.settle(again)
    assert begin(calls).key != first.key


def test_call_survives_its_process(calls: PendingCalls) -> None:
    first = begin(calls)
    after = PendingCalls(calls.folder)
    assert begin(after).key == first.key
    assert [call.key for call in after.all()] == [first.key]


@pytest.mark.parametrize(
    "changes",
    [
        {"site": "other.example"},
        {"action": "refund"},
        {"value": {"cart": "c1", "price": 6}},
        {"value": {"cart": "c1", "price": "5"}},
        {"value": {"cart": "c1", "price": True}},
        {"value": None},
        {"intent": "the second one"},
        {"intent": ""},
    ],
)
def test_other_calls_have_other_keys(calls: PendingCalls, changes: dict[str, Any]) -> None:
    assert begin(calls, **changes).key != begin(calls).key


@pytest.mark.parametrize(
    "value",
    [
        {"price": 5, "cart": "c1"},
        {"cart": "c1", "price": 5.0},
        {"cart": "c1", "price": Decimal("5.00")},
    ],
)
def test_input_counts_by_its_canonical_form(calls: PendingCalls, value: Any) -> None:
    assert begin(calls).key == begin(calls, value=value).key


def test_integer_beyond_doubles_is_kept_exactly(calls: PendingCalls) -> None:
    first = begin(calls, value={"id": 2**60})
    assert begin(calls, value={"id": 2**60}).key == first.key
    assert begin(calls, value={"id": 2**60 + 1}).key != first.key


def test_exact_input_is_on_the_disk_with_the_key(calls: PendingCalls) -> None:
    call = begin(calls, value={"price": Decimal("19.90"), "list": [1, None, "é\0"]}, intent="gift")
    (path,) = calls.folder.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert calls.folder.stat().st_mode & 0o777 == 0o700
    assert json.loads(path.read_text()) == {
        "version": 1,
        "site": "shop.example",
        "action": "checkout",
        "input": {"price": 19.9, "list": [1, None, "é\0"]},
        "intent": "gift",
        "key": call.key,
        "created": NOW,
    }
    (known,) = calls.all()
    assert (known.site, known.action, known.intent) == ("shop.example", "checkout", "gift")
    assert known.input == {"price": Decimal("19.9"), "list": [1, None, "é\0"]}


def test_new_intent_drops_the_unsettled_one(calls: PendingCalls) -> None:
    first = begin(calls)
    second = begin(calls, is_new=True)
    assert (second.key != first.key, second.is_resumed) == (True, False)
    assert begin(calls).key == second.key


def test_call_that_a_site_may_have_forgotten_is_not_repeated_silently(calls: PendingCalls) -> None:
    first = begin(calls)
    assert begin(calls, now=NOW + MAX_AGE).key == first.key
    with pytest.raises(ClientError) as caught:
        begin(calls, now=NOW + MAX_AGE + 1)
    assert caught.value.code == "outcome_unknown"
    assert caught.value.extra["idempotency_key"] == first.key
    assert begin(calls, now=NOW + MAX_AGE + 1, is_new=True).key != first.key


def test_threads_that_begin_together_share_one_key(calls: PendingCalls) -> None:
    keys: list[str] = []
    barrier = threading.Barrier(8)

    def run() -> None:
        barrier.wait()
        keys.append(begin(calls).key)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 8
    assert len(set(keys)) == 1
    assert len(list(calls.folder.iterdir())) == 1


def test_settling_an_old_call_leaves_a_newer_one(calls: PendingCalls) -> None:
    first = begin(calls)
    second = begin(calls, is_new=True)
    calls.settle(first)
    assert begin(calls).key == second.key
    calls.settle(second)
    calls.settle(second)
    assert calls.all() == []


def test_calls_are_listed_oldest_first(calls: PendingCalls) -> None:
    assert calls.all() == []
    late, early = begin(calls, action="b", now=NOW + 1), begin(calls, action="a", now=NOW)
    assert [call.key for call in calls.all()] == [early.key, late.key]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b'{"version":2}',
        b'{"version":1,"site":"a","action":"b","input":1,"intent":null,"key":"short"}',
    ],
)
def test_record_that_cannot_be_read_is_an_error_and_never_a_new_key(
    calls: PendingCalls, content: bytes
) -> None:
    path = begin(calls).path
    path.write_bytes(content)
    with pytest.raises(KeyStoreError) as caught:
        begin(calls)
    assert caught.value.code == "keystore_invalid"


def test_record_that_others_can_use_is_refused(calls: PendingCalls) -> None:
    begin(calls).path.chmod(0o644)
    with pytest.raises(KeyStoreError) as caught:
        begin(calls)
    assert caught.value.code == "keystore_unsafe"


def test_file_that_cannot_be_read_does_not_hide_the_other_calls(
    calls: PendingCalls, caplog: pytest.LogCaptureFixture
) -> None:
    call = begin(calls)
    (calls.folder / "broken.json").write_bytes(b"{")
    (calls.folder / "folder.json").mkdir()
    others = calls.folder / "others.json"
    others.write_bytes(call.path.read_bytes())
    others.chmod(0o644)
    endless = json.loads(call.path.read_text()) | {"created": 10**400}
    bad = calls.folder / "endless.json"
    bad.write_text(json.dumps(endless))
    bad.chmod(0o600)
    assert [known.key for known in calls.all()] == [call.key]
    assert len(caplog.records) == 4


def test_the_largest_input_is_kept_so_that_it_can_be_read(calls: PendingCalls) -> None:
    largest = "x" * (MAX_INPUT - 2)
    assert begin(calls, value=largest).key == begin(calls, value=largest).key
