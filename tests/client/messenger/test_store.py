from __future__ import annotations

import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentweb.client.errors import KeyStoreError
from agentweb.client.messenger import store as stores
from agentweb.client.messenger.store import Identity, MessengerStore, Waiting, Work

AT = "aim.example"
ALICE = Identity(AT, f"https://{AT}", "key", "alice", "c1")


@pytest.fixture
def store(tmp_path: Path) -> MessengerStore:
    return MessengerStore(tmp_path / "agent.json.messenger")


def test_the_file_is_for_its_owner_only_and_made_when_needed(store: MessengerStore) -> None:
    assert not store.path.exists()
    assert store.outbox(AT) == []
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    store.put(Waiting(AT, "m1", "{}", 1.0))
    assert {path.name for path in store.path.parent.iterdir()} == {store.path.name}


def test_a_file_that_others_can_read_is_not_used(store: MessengerStore) -> None:
    store.path.touch(mode=0o644)
    with pytest.raises(KeyStoreError) as refused:
        store.outbox(AT)
    assert refused.value.code == "keystore_unsafe"


def test_a_file_that_is_something_else_is_left_as_it_is(store: MessengerStore) -> None:
    store.path.write_bytes(b"not a database" * 100)
    store.path.chmod(0o600)
    with pytest.raises(KeyStoreError) as refused:
        store.outbox(AT)
    assert refused.value.code == "keystore_invalid"
    assert store.path.read_bytes() == b"not a database" * 100


def test_a_store_of_another_version_is_left_as_it_is(store: MessengerStore) -> None:
    store.outbox(AT)
    with sqlite3.connect(store.path) as db:
        db.execute("PRAGMA user_version = 7")
    with pytest.raises(KeyStoreError) as refused:
        MessengerStore(store.path).outbox(AT)
    assert refused.value.code == "keystore_invalid"


def test_a_file_that_vanishes_is_not_made_again_for_everybody(store: MessengerStore) -> None:
    store.outbox(AT)
    store.path.unlink()
    with pytest.raises(KeyStoreError):
        store.outbox(AT)
    assert not store.path.exists()


def test_the_outbox_is_in_order_and_of_one_service(store: MessengerStore) -> None:
    for number in range(3):
        store.put(Waiting(AT, f"m{number}", f'{{"n":{number}}}', float(number)))
    store.put(Waiting("other.example", "m0", "{}", 0.0))
    store.settle(AT, "m1")
    assert [waiting.id for waiting in MessengerStore(store.path).outbox(AT)] == ["m0", "m2"]
    assert len(store.outbox("other.example")) == 1


def test_a_message_is_kept_once(store: MessengerStore) -> None:
    store.put(Waiting(AT, "m1", "first", 1.0))
    with pytest.raises(KeyStoreError):
        store.put(Waiting(AT, "m1", "second", 2.0))
    assert [waiting.envelope for waiting in store.outbox(AT)] == ["first"]


def test_a_registration_that_is_repeated_does_not_move_the_cursor_back(store: MessengerStore) -> None:
    assert store.keep_identity(ALICE) == ALICE
    store.commit(AT, "c9")
    assert store.keep_identity(ALICE).cursor == "c9"
    assert store.identity(AT, "another key") is None
    renamed = Identity(AT, ALICE.origin, "another key", "bob", "c3")
    assert store.keep_identity(renamed) == renamed
    assert store.identities("another key") == [renamed]
    assert store.identities("key") == []


def test_what_was_seen_is_committed_with_the_cursor(store: MessengerStore) -> None:
    store.keep_identity(ALICE)
    store.commit(AT, "c2", ("bob@aim.example", "m1"))
    again = MessengerStore(store.path)
    assert again.is_seen(AT, "bob@aim.example", "m1")
    assert not again.is_seen(AT, "eve@aim.example", "m1")
    assert not again.is_seen("other.example", "bob@aim.example", "m1")
    found = again.identity(AT, "key")
    assert found is not None
    assert found.cursor == "c2"


def test_only_the_latest_seen_are_kept(store: MessengerStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_SEEN_KEPT", 3)
    for number in range(6):
        store.commit(AT, seen=("bob", str(number)))
    assert [store.is_seen(AT, "bob", str(number)) for number in range(6)] == [False] * 3 + [True] * 3


def test_keys_work_and_clock_are_kept_for_each_service(store: MessengerStore) -> None:
    assert (store.peer(AT, "bob"), store.offset(AT), store.work(AT, "key")) == ([], 0.0, None)
    store.keep_peer(AT, "bob", ["k1"])
    store.keep_peer(AT, "bob", ["k1", "k2"])
    store.keep_offset(AT, -3.5)
    work = Work("challenge", "7", 10.0)
    store.keep_work(AT, "key", work)
    again = MessengerStore(store.path)
    assert (again.peer(AT, "bob"), again.offset(AT), again.work(AT, "key")) == (["k1", "k2"], -3.5, work)
    assert (again.peer("b", "bob"), again.offset("b"), again.work(AT, "other")) == ([], 0.0, None)
    again.keep_work(AT, "key", None)
    assert store.work(AT, "key") is None


def test_threads_may_write_at_once(store: MessengerStore) -> None:
    def write(number: int) -> None:
        MessengerStore(store.path).put(Waiting(AT, f"m{number}", "{}", 0.0))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    assert len(store.outbox(AT)) == 40
