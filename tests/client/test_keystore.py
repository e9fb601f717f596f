from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentweb.client.keystore import KeyStore, SiteRecord
from agentweb.wire.errors import AgentError
from agentweb.wire.grants import attenuate, encode_chain, new_grant
from agentweb.wire.signing import SigningKey
from tests.client.conftest import AGENT, PERSON


def grant(**changes: Any) -> dict[str, Any]:
    members: dict[str, Any] = {
        "issuer": PERSON,
        "subject": AGENT.public,
        "audience": "shop.example",
        "scopes": ["cart:*"],
        "not_before": 1_790_000_000,
        "expires": 1_790_086_400,
    }
    return new_grant(**(members | changes))


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(AgentError) as caught:
        call()
    return caught.value.code


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_new_store_is_readable_by_its_owner_only_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "agent.json"
    before = os.umask(umask)
    try:
        store = KeyStore(path)
        store.add_grant(grant(subject=store.key.public))
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o7777 == 0o600


def test_missing_folders_are_made_for_the_owner_only(tmp_path: Path) -> None:
    KeyStore(tmp_path / "deep" / "er" / "agent.json")
    assert (tmp_path / "deep" / "er").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o644, 0o666])
def test_store_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "agent.json"
    KeyStore(path)
    path.chmod(mode)
    assert code_of(lambda: KeyStore(path)) == "keystore_unsafe"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_store_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    KeyStore(path)
    os.chown(path, 12_345, -1)
    assert code_of(lambda: KeyStore(path)) == "keystore_unsafe"


def test_folder_in_place_of_the_store_is_refused(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "agent.json")
    store.path.unlink()
    store.path.mkdir(mode=0o700)
    assert code_of(lambda: KeyStore(store.path)) == "keystore_unsafe"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_pipe_in_place_of_the_store_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "agent.json", 0o600)
    assert code_of(lambda: KeyStore(tmp_path / "agent.json")) == "keystore_unsafe"


def test_socket_in_place_of_the_store_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "agent.json"))
        assert code_of(lambda: KeyStore(tmp_path / "agent.json")) == "keystore_unsafe"


@pytest.mark.parametrize("grants", [[[]], [None], 5])
def test_store_with_a_chain_that_is_none_is_refused(keystore: KeyStore, grants: Any) -> None:
    content = json.loads(keystore.path.read_text())
    keystore.path.write_text(json.dumps(content | {"grants": grants}))
    assert code_of(lambda: keystore.chains) == "keystore_invalid"


def test_store_keeps_its_key(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    assert KeyStore(path).key.public == KeyStore(path).key.public
    assert KeyStore(tmp_path / "other.json").key.public != KeyStore(path).key.public


def test_given_key_is_stored_and_another_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    assert KeyStore(path, key=AGENT).key.seed == AGENT.seed
    assert KeyStore(path, key=AGENT).key.public == AGENT.public
    assert code_of(lambda: KeyStore(path, key=PERSON)) == "keystore_invalid"


def test_representation_shows_no_secret(keystore: KeyStore) -> None:
    secret = json.loads(keystore.path.read_text())["key"]
    assert secret not in f"{keystore!r} {keystore.key!r} {keystore.state!r}"


def test_processes_that_begin_together_agree_on_one_key(tmp_path: Path) -> None:
    program = (
        "import sys; from agentweb.client.keystore import KeyStore; print(KeyStore(sys.argv[1]).key.public)"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "a.json")], stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    assert len({run.communicate()[0] for run in runs}) == 1
    assert all(run.returncode == 0 for run in runs)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'{"version":2}',
        b"not json",
        b"\xff",
        b'{"version":1,"key":"AAAA","grants":[],"ended":{},"sites":{}}',
        b'{"version":1,"key":7,"grants":[],"ended":{},"sites":{}}',
    ],
)
def test_store_that_cannot_be_read_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "agent.json"
    path.write_bytes(content)
    path.chmod(0o600)
    assert code_of(lambda: KeyStore(path)) == "keystore_invalid"
    assert path.read_bytes() == content


def test_store_that_was_spoiled_later_is_not_overwritten(keystore: KeyStore) -> None:
    keystore.path.write_bytes(b"spoiled")
    assert code_of(lambda: keystore.end_grant("gr_x", "x")) == "keystore_invalid"
    assert keystore.path.read_bytes() == b"spoiled"


def test_stored_grant_that_was_tampered_with_is_refused(keystore: KeyStore) -> None:
    keystore.add_grant(grant())
    content = json.loads(keystore.path.read_text())
    content["grants"][0][0]["scopes"] = ["car*"]
    keystore.path.write_text(json.dumps(content))
    assert code_of(lambda: KeyStore(keystore.path).chains) == "keystore_invalid"


@pytest.mark.parametrize(
    "form",
    [
        lambda document: document,
        lambda document: [document],
        lambda document: encode_chain([document]),
        lambda document: f"  {encode_chain([document])}\n",
    ],
)
def test_grant_is_added_from_every_form_it_is_handed_out_in(
    keystore: KeyStore, form: Callable[[dict[str, Any]], Any]
) -> None:
    document = grant()
    leaf = keystore.add_grant(form(document))
    assert leaf.document == document
    assert KeyStore(keystore.path).chains == ((leaf,),)


def test_chain_is_kept_whole(keystore: KeyStore) -> None:
    helper = SigningKey.generate()
    chain = attenuate(
        [grant(subject=helper.public, delegate=1)], helper, subject=AGENT.public, scopes=["cart:write"]
    )
    keystore.add_grant(chain)
    assert [member.document for member in KeyStore(keystore.path).chains[0]] == chain


def test_grant_that_lives_longer_than_this_sides_default_is_kept(keystore: KeyStore) -> None:
    long = grant(expires=1_790_000_000 + 365 * 86_400, max_life=365 * 86_400)
    assert keystore.add_grant(encode_chain([long])).document == long
    assert KeyStore(keystore.path).chains


def test_grant_that_does_not_hold_is_not_kept(keystore: KeyStore) -> None:
    assert code_of(lambda: keystore.add_grant(grant(subject=PERSON.public))) == "grant_invalid"
    assert code_of(lambda: keystore.add_grant(grant() | {"scopes": ["*"]})) == "grant_invalid"
    assert code_of(lambda: keystore.add_grant("gr_" + "A" * 22)) == "grant_invalid"
    assert code_of(lambda: keystore.add_grant("v1.nonsense")) == "grant_invalid"
    assert code_of(lambda: keystore.add_grant([])) == "grant_invalid"
    assert keystore.chains == ()


def test_same_grant_is_kept_once_and_removed_by_its_id(keystore: KeyStore) -> None:
    document = grant()
    first, second = keystore.add_grant(document), keystore.add_grant(grant())
    keystore.add_grant(document)
    assert {chain[-1].id for chain in keystore.chains} == {first.id, second.id}
    keystore.remove_grant(first.id)
    keystore.remove_grant("gr_unknown")
    assert [chain[-1].id for chain in keystore.chains] == [second.id]


def test_what_is_learned_of_grants_and_sites_is_kept(keystore: KeyStore) -> None:
    keystore.end_grant("gr_a", "grant_revoked")
    record = SiteRecord(head={"seq": 1}, after=3, spent={"gr_a": 5}, counted={"rc_b": 4})
    keystore.change_site("shop.example", lambda known: record)
    again = KeyStore(keystore.path)
    assert dict(again.state.ended) == {"gr_a": "grant_revoked"}
    assert again.site("shop.example") == record
    assert again.site("other.example") == SiteRecord()


def test_change_of_another_process_is_seen(keystore: KeyStore) -> None:
    other = KeyStore(keystore.path)
    assert keystore.chains == ()
    other.add_grant(grant())
    assert len(keystore.chains) == 1


def test_no_change_is_lost_among_many_writers(keystore: KeyStore) -> None:
    def spend(store: KeyStore) -> None:
        for _ in range(10):
            store.change_site(
                "shop.example",
                lambda record: replace(record, spent={"gr_a": record.spent.get("gr_a", 0) + 1}),
            )

    threads = [threading.Thread(target=spend, args=(KeyStore(keystore.path),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert keystore.site("shop.example").spent == {"gr_a": 40}
    assert sorted(path.name for path in keystore.path.parent.iterdir()) == ["agent.json", "agent.json.lock"]


def test_failed_change_leaves_the_store_as_it_was(keystore: KeyStore) -> None:
    before = keystore.path.read_bytes()
    with pytest.raises(ValueError, match="JSON"):
        keystore.change_site("shop.example", lambda known: SiteRecord(head={"seq": float("nan")}))
    assert keystore.path.read_bytes() == before
    assert KeyStore(keystore.path).key.public == AGENT.public


def test_change_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    real = KeyStore(tmp_path / "real.json", key=AGENT)
    link = tmp_path / "link.json"
    link.symlink_to(real.path)
    KeyStore(link).add_grant(grant())
    assert link.is_symlink()
    assert len(KeyStore(real.path).chains) == 1


def test_change_that_would_make_the_store_unreadable_is_refused(
    keystore: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentweb.client.keystore.MAX_BYTES", 5_000)
    keystore.end_grant("gr_x", "grant_used")
    large = {f"gr_{number:022d}": 1 for number in range(500)}
    assert (
        code_of(lambda: keystore.change_site("a.example", lambda _: SiteRecord(spent=large)))
        == "keystore_full"
    )
    assert KeyStore(keystore.path).state.ended == {"gr_x": "grant_used"}


def test_what_a_killed_writer_left_of_the_key_is_taken_away(keystore: KeyStore) -> None:
    left, under_way, another = (
        keystore.path.with_name(name)
        for name in (f".agent.json.{'a' * 16}", f".agent.json.{'b' * 16}", f".agent.json.old.{'a' * 16}")
    )
    for path in (left, under_way, another):
        path.write_text("secret")
    for path in (left, another):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    keystore.end_grant("gr_x", "grant_used")
    assert [path.exists() for path in (left, under_way, another)] == [False, True, True]
