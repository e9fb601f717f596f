"""``POST /agent-index/manifests``: the server reads what strangers name, under the guard, and is never broken by it."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from agentweb.client import transport as client_transport
from agentweb.client.discovery import MAX_BYTES
from agentweb.index import crawl, store, submitting
from agentweb.index.models import IndexedSite
from agentweb.wire.clock import now_datetime
from tests.client.site import MANIFEST, Reply, Site
from tests.client.test_peers import PUBLIC, Listener
from tests.client.test_peers import names as lead
from tests.index.sites import MANIFESTS, an_action, error_of, keep, name_site, names
from tests.support.web import send

pytestmark = pytest.mark.django_db


def test_a_named_site_is_read_and_found(site: Site) -> None:
    site.action("buy_paper", effect="spend", description="Order printer paper.")
    answer = name_site(f"{site.url}/some/page?x=1")
    assert answer.status_code == 200
    assert json.loads(answer.content) == {
        "site": site.authority,
        "state": "indexed",
        "manifest_url": f"{site.url}{MANIFEST}",
        "actions": 1,
        "flows": 0,
    }
    assert names("printer paper") == [f"{site.authority}/buy_paper"]


def test_a_site_that_is_fresh_is_asked_nothing(site: Site) -> None:
    name_site(site.url)
    asked = len(site.seen)
    assert name_site(site.url).status_code == 200
    assert len(site.seen) == asked


def test_what_the_site_says_of_itself_counts_too(site: Site) -> None:
    site.action("checkout", effect="spend")
    site.script(
        "/.well-known/agentic-web-protocol.json",
        Reply(200, {"version": "1.0", "name": "Greenleaf", "description": "Printer paper and pens."}),
    )
    name_site(site.url)
    assert names("buy printer paper") == [f"{site.authority}/checkout"]


def test_actions_with_hostile_schemas_are_left_out_and_said(site: Site) -> None:
    with Listener_() as other:
        site.action("remote", input={"$ref": f"http://127.0.0.1:{other.port}/schema.json"})
        site.action(
            "slow", input={"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
        )
        site.action("fine", input={"type": "object"})
        answer = name_site(site.url)
    body = json.loads(answer.content)
    assert (answer.status_code, body["actions"]) == (200, 1)
    assert {(each["field"], each["code"]) for each in body["unusable"]} == {
        ("remote.input", "$ref"),
        ("slow.input", "pattern"),
    }
    assert other.received == []


def Listener_() -> Any:
    from contextlib import contextmanager

    @contextmanager
    def listening() -> Any:
        listener = Listener()
        try:
            yield listener
        finally:
            listener.close()

    return listening()


def refused(site: Site, url: str | None = None) -> tuple[int, str, str]:
    answer = name_site(url or site.url)
    error = error_of(answer)
    return answer.status_code, error["code"], error.get("reason", "")


UNREACHABLE, INVALID = (422, "site_unreachable"), (422, "manifest_invalid")


@pytest.mark.parametrize(
    ("reply", "refusal"),
    [
        (Reply(404), (*INVALID, "status")),
        (Reply(500), (*INVALID, "status")),
        (Reply(200, body=b"<html>"), (*INVALID, "json")),
        (Reply(200, body=b'{"a":1,"a":2}'), (*INVALID, "json")),
        (Reply(200, body=b"[" * 5_000), (*INVALID, "json")),
        (Reply(200, []), (*INVALID, "shape")),
        (Reply(200, {"version": "agent-actions/0.1", "site": "bank.example"}), (*INVALID, "site")),
        (Reply(200, {}, headers={"Content-Type": "text/html"}), (*INVALID, "media_type")),
        (Reply(200, body=b" " * (MAX_BYTES + 1)), (*INVALID, "too_large")),
        (Reply(200, {}, headers={"Content-Encoding": "gzip"}), (*INVALID, "content_coding")),
        (Reply(302, headers={"Location": "https://bank.example/m.json"}), (*UNREACHABLE, "redirect")),
        (Reply(302, headers={"Location": "http://169.254.169.254/latest"}), (*UNREACHABLE, "redirect")),
        (Reply(drop=True), (*UNREACHABLE, "connection")),
    ],
    ids=[
        "404", "500", "html", "duplicate", "deep", "list", "another-site", "text", "huge", "packed", "elsewhere",
        "metadata", "dropped",
    ],
)  # fmt: skip
def test_each_refusal_has_its_code(site: Site, reply: Reply, refusal: tuple[int, str, str]) -> None:
    site.script(MANIFEST, reply)
    assert refused(site) == refusal
    row = IndexedSite.objects.get()
    assert (row.state, row.code, row.reason) == ("failed", refusal[1], refusal[2])


def test_a_circle_of_redirects_is_left(site: Site) -> None:
    site.script(MANIFEST, *[Reply(307, headers={"Location": MANIFEST})] * 9)
    assert refused(site) == (*UNREACHABLE, "redirects")
    assert len(site.seen) == 4


def test_a_site_that_trickles_is_left_in_time_whatever_its_redirects(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = threading.Event()
    monkeypatch.setattr(crawl, "SECONDS", 0.3)
    slow = Reply(200, {"site": "x" * 500}, pause=lambda: gone.wait(0.02))
    site.script(MANIFEST, Reply(307, headers={"Location": "/other"}))
    site.script("/other", slow)
    assert refused(site) == (*UNREACHABLE, "time")
    gone.set()


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:1", "https://localhost", "https://[::1]:8443", "https://10.0.0.1", "https://192.168.1.1",
        "https://169.254.169.254", "https://[::ffff:127.0.0.1]", "https://[fd00::1]", "https://0.0.0.0",
        "https://127.0.0.2", "https://2130706433", "https://0x7f.1",
    ],
)  # fmt: skip
def test_this_machine_and_private_networks_are_not_called(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = name_site(url)
    error = error_of(answer)
    assert (answer.status_code, error["code"]) == (422, "site_unreachable")
    assert error["reason"] in {"address", "scheme", "url"}


@pytest.mark.parametrize("url", ["http://shop.example", "ftp://shop.example", "file:///etc/passwd"])
def test_only_https_is_called(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lead(monkeypatch, {"shop.example": [PUBLIC]})
    assert error_of(name_site(url))["reason"] in {"scheme", "url"}


def test_an_address_without_tls_does_not_stand_for_a_site(monkeypatch: pytest.MonkeyPatch) -> None:
    lead(monkeypatch, {"shop.example": [PUBLIC]})
    assert error_of(name_site("http://shop.example"))["reason"] == "scheme"
    assert not IndexedSite.objects.exists()


def test_the_address_of_a_site_that_never_was_found_is_the_one_named_last(site: Site) -> None:
    site.action("pens")
    assert refused(site, site.url.replace("http:", "https:")) == (*UNREACHABLE, "connection")
    assert name_site(site.url).status_code == 200
    assert name_site(site.url.replace("http:", "https:")).status_code == 200
    assert IndexedSite.objects.get().url == f"{site.url}{MANIFEST}"


def test_a_name_that_leads_elsewhere_at_the_connection_gets_no_byte(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Listener_() as listener:
        lead(monkeypatch, {"rebind.example": [PUBLIC, "127.0.0.1"]})
        answer = name_site(f"https://rebind.example:{listener.port}")
        row = IndexedSite.objects.get()
    assert error_of(answer)["code"] == "site_unreachable"
    assert row.reason == "rebinding"
    assert b"".join(listener.received) == b""


def test_strangers_do_not_learn_which_names_our_network_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    lead(monkeypatch, {"db.internal": ["10.0.0.7"], "metadata.internal": [PUBLIC, "10.0.0.7"]})
    said = {
        json.dumps(
            {key: error_of(name_site(f"https://{host}"))[key] for key in ("code", "reason", "message")}
        )
        for host in ("db.internal", "no-such-host.invalid")
    }
    assert len(said) == 1


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"url":5}', b'{"url":"https://a.example","x":1}', b"{"]
)
def test_a_body_that_is_none_is_refused(body: bytes) -> None:
    answer = send("POST", MANIFESTS, body)
    assert answer.status_code in {400, 422}
    assert not IndexedSite.objects.exists()


@pytest.mark.parametrize(
    "url", ["", "shop.example", "https://", "a b", "https://user:pw@shop.example", "https://x" * 900]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    assert name_site(url).status_code == 422
    assert not IndexedSite.objects.exists()


def test_a_site_that_failed_is_not_asked_again_at_once(site: Site) -> None:
    site.script(MANIFEST, Reply(404))
    first = name_site(site.url)
    asked = len(site.seen)
    again = name_site(site.url)
    assert len(site.seen) == asked
    assert error_of(again)["reason"] == error_of(first)["reason"] == "status"
    assert 500 < int(again["Retry-After"]) <= 600
    IndexedSite.objects.update(due_at=now_datetime() - timedelta(seconds=1))
    assert name_site(site.url).status_code == 200


def test_when_the_process_is_busy_the_worker_reads_it(site: Site, settings: Any) -> None:
    site.action("buy_paper")
    settings.AGENTWEB["INDEX"]["FETCHES"] = 0
    answer = name_site(site.url)
    assert (answer.status_code, answer["Retry-After"]) == (202, "60")
    assert json.loads(answer.content)["state"] == "waiting"
    assert site.seen == []
    assert crawl.look_at_due() == {"sites": 1, "failed": 0}
    assert names("paper") == [f"{site.authority}/buy_paper"]


def test_no_more_sites_are_asked_at_a_time_than_the_setting_says(site: Site, settings: Any) -> None:
    settings.AGENTWEB["INDEX"]["FETCHES"] = 1
    assert submitting._places.take(1)
    try:
        assert name_site(site.url).status_code == 202
    finally:
        submitting._places.free()
    assert name_site(site.url).status_code == 200


def test_one_address_names_so_many_sites_and_no_more(settings: Any) -> None:
    settings.AGENTWEB["INDEX"]["SUBMISSION_RATE"] = (0.001, 2)
    statuses = [name_site(f"https://10.0.0.{n}").status_code for n in range(3)]
    assert statuses == [422, 422, 429]


def test_one_host_is_not_asked_at_all_of_its_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submitting, "_HOST_RATE", (0.001, 2))
    statuses = [name_site(f"https://10.0.0.1:{port}").status_code for port in (443, 8443, 9443)]
    assert statuses == [422, 422, 429]


def test_an_index_that_is_full_takes_nothing_new(site: Site, settings: Any) -> None:
    settings.AGENTWEB["INDEX"]["SITES"] = 1
    keep("a.example", an_action("stamps"))
    answer = name_site(site.url)
    assert (answer.status_code, error_of(answer)["code"]) == (429, "quota_exceeded")


def test_hosts_that_never_had_a_manifest_make_room_when_the_index_is_full(site: Site, settings: Any) -> None:
    settings.AGENTWEB["INDEX"]["SITES"] = 2
    keep("a.example", an_action("stamps"), state=IndexedSite.State.FAILED)
    keep("made-up.example", state=IndexedSite.State.FAILED, confirmed_at=None)
    site.action("pens", description="Buy pens.")
    assert name_site(site.url).status_code == 200
    assert set(IndexedSite.objects.values_list("site", flat=True)) == {"a.example", site.authority}


def test_a_site_that_was_shut_out_stays_out(site: Site) -> None:
    name_site(site.url)
    store.shut_out(IndexedSite.objects.get())
    answer = name_site(site.url)
    assert (answer.status_code, error_of(answer)["code"]) == (403, "not_allowed")
    assert crawl.look_at_due() == {"sites": 0, "failed": 0}


def test_a_site_may_take_no_names_from_others(site: Site, settings: Any) -> None:
    settings.AGENTWEB["INDEX"]["SUBMISSIONS"] = False
    assert (name_site(site.url).status_code, site.seen) == (403, [])


def test_it_is_asked_with_post() -> None:
    answer = Client().get(MANIFESTS)
    assert (answer.status_code, answer["Allow"]) == (405, "POST, OPTIONS")


def test_what_crashes_inside_is_no_crash_of_the_answer(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("out of order")

    monkeypatch.setattr(client_transport.Transport, "get", crash)
    answer = name_site(site.url)
    assert (answer.status_code, error_of(answer)["reason"]) == (422, "internal")
    assert b"out of order" not in answer.content
