from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import pytest

from agentweb.client import spending
from agentweb.client.agent import AgentClient
from agentweb.client.commands.actions import said_of
from agentweb.client.errors import SiteError
from agentweb.client.keystore import KeyStore, SiteRecord
from agentweb.client.spending import count
from agentweb.wire.errors import ClientError
from agentweb.wire.receipts import build_receipt, receipt_hash, sign_head, verify_receipt
from agentweb.wire.signing import SigningKey, jwk
from tests.client.conftest import AGENT, PERSON
from tests.client.site import MANIFEST, Reply, Seen, Site, error

SITE_KEY = SigningKey.from_seed(hashlib.sha256(b"site").digest())
LEAF, ROOT = "gr_" + "L" * 22, "gr_" + "R" * 22
LIST, HEAD = "/agent-actions/receipts", "/agent-actions/receipts/head"


class Log:
    """The receipts of a test site, chained and served page by page."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.receipts: list[dict[str, Any]] = []
        self.page_size = 2
        site.manifest["keys"] = [jwk(SITE_KEY.public)]
        site.manifest["endpoints"] = {"receipts": LIST}

    def add(self, amount: int = 5_00, **changes: Any) -> dict[str, Any]:
        seq = len(self.receipts) + 1
        members: dict[str, Any] = {
            "key": SITE_KEY,
            "id": f"rc_{seq:022d}",
            "kind": "charge",
            "site": self.site.authority,
            "seq": seq,
            "prev": receipt_hash(self.receipts[-1]) if self.receipts else None,
            "issued_at": 1_790_000_000 + seq,
            "action": "buy",
            "request": "rq_" + "Q" * 22,
            "agent": AGENT.public,
            "grant": LEAF,
            "root": ROOT,
            "item": "sku",
            "amount": amount,
            "currency": "USD",
        }
        self.receipts.append(build_receipt(**(members | changes)))
        return self.receipts[-1]

    def head(self, **changes: Any) -> dict[str, Any]:
        last = self.receipts[-1] if self.receipts else None
        members: dict[str, Any] = {
            "key": SITE_KEY,
            "site": self.site.authority,
            "seq": last["seq"] if last else 0,
            "hash": receipt_hash(last) if last else None,
            "at": 1_790_000_100,
        }
        return sign_head(**(members | changes))

    def page(self, seen: Seen) -> Reply:
        after = int(parse_qs(seen.path.partition("?")[2])["after"][0])
        later = [receipt for receipt in self.receipts if receipt["seq"] > after]
        items = later[: self.page_size]
        cursor = str(items[-1]["seq"]) if len(later) > len(items) else None
        return Reply(value={"items": items, "next_cursor": cursor})

    def serve(self) -> None:
        self.site.scripts.pop(LIST, None)
        self.site.scripts.pop(HEAD, None)
        self.site.script(LIST, *[self.page] * 50)
        self.site.script(HEAD, *[lambda seen: Reply(value=self.head())] * 5)


@pytest.fixture
def log(site: Site) -> Log:
    log = Log(site)
    log.serve()
    return log


def refusal(call: Callable[[], object]) -> tuple[str, str | None]:
    with pytest.raises(ClientError) as caught:
        call()
    return caught.value.code, caught.value.extra.get("reason")


# --- one receipt ---


def test_receipt_is_verified_here_against_the_sites_keys(site: Site, client: AgentClient, log: Log) -> None:
    receipt = log.add()
    assert client.verify_receipt(site.url, receipt) is None
    assert client.verify_receipt(site.url, receipt | {"amount": "0.01"}) == "signature"
    assert client.verify_receipt(site.url, {}) == "malformed"
    assert {seen.path for seen in site.seen} == {MANIFEST}


def test_receipt_of_another_site_is_not_this_sites(site: Site, client: AgentClient, log: Log) -> None:
    assert client.verify_receipt(site.url, log.add(site="other.example")) == "site"


def test_new_key_of_the_site_is_looked_for(site: Site, client: AgentClient, log: Log) -> None:
    client.discover_actions(site.url)
    new = SigningKey.generate()
    receipt = log.add(key=new)
    assert client.verify_receipt(site.url, receipt) == "unknown_key"
    site.manifest["keys"].append(jwk(new.public))
    assert client.verify_receipt(site.url, receipt) is None


# --- receipts in answers ---


def test_receipts_in_an_answer_are_verified_and_counted_once(
    site: Site, client: AgentClient, log: Log, grant: Callable[..., str], keystore: KeyStore
) -> None:
    held = grant("pay", spending=("USD", 10_00, 12_00))
    site.action("pay", effect="spend", scope="pay", cost={"currency": "USD", "amount": 5})
    receipt = log.add(5_00, grant=held, root=held)
    forged = receipt | {"id": "rc_" + "F" * 22}
    others = log.add(5_00, grant=held, root=held, site="other.example")
    site.script("/api/pay", *[Reply(value={"a": [receipt, forged], "b": others, "again": receipt})] * 2)
    assert client.call_action(site.url, "pay").receipts == (receipt,)
    assert client.call_action(site.url, "pay").receipts == (receipt,)
    assert keystore.site(site.authority).spent == {held: 5_00}


@pytest.mark.parametrize(
    ("effect", "cost", "amounts", "overcharge"),
    [
        pytest.param("spend", 5, [5_00], None, id="as-shown"),
        pytest.param("spend", 5, [4_00], None, id="less"),
        pytest.param(
            "spend",
            5,
            [9_00],
            {"charged": "9.00", "currency": "USD", "shown": {"amount": "5.00", "currency": "USD"}},
            id="more",
        ),
        pytest.param(
            "spend",
            5,
            [3_00, 3_00],
            {"charged": "6.00", "currency": "USD", "shown": {"amount": "5.00", "currency": "USD"}},
            id="more-in-two",
        ),
        pytest.param("spend", None, [9_00], None, id="not-said"),
        pytest.param(
            "write", None, [1_00], {"charged": "1.00", "currency": "USD", "shown": None}, id="said-to-be-free"
        ),
    ],
)
def test_a_receipt_of_more_than_was_shown_is_told(
    site: Site,
    client: AgentClient,
    log: Log,
    grant: Callable[..., str],
    effect: str,
    cost: int | None,
    amounts: list[int],
    overcharge: dict[str, Any] | None,
) -> None:
    held = grant("pay", spending=("USD", 100_00, 1000_00))
    old = log.add(50_00, grant=held, root=held, action="pay")
    site.script("/api/pay", Reply(value=old))
    members = {} if cost is None else {"cost": {"currency": "USD", "amount": cost}}
    site.action("pay", effect=effect, scope="pay", **members)
    client.call_action(site.url, "pay")
    # What was seen before is not of this call.
    new = [
        log.add(amount, grant=held, root=held, action="pay", request="rq_" + "N" * 22) for amount in amounts
    ]
    site.script("/api/pay", Reply(value=[old, *new, log.add(70_00, grant=held, root=held, action="other")]))
    assert client.call_action(site.url, "pay").overcharge == overcharge


def test_what_a_step_took_beyond_its_price_is_told_of_the_flow(
    site: Site, client: AgentClient, log: Log, grant: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    held = grant("pay", spending=("USD", 100_00, 1000_00))
    site.action("pay", effect="spend", scope="pay", cost={"currency": "USD", "amount": 5})
    site.manifest["flows"] = [{"name": "buy", "steps": [{"action": "pay"}]}]
    site.script("/api/pay", Reply(value=log.add(9_00, grant=held, root=held, action="pay")))
    result = client.run_flow(site.url, "buy")
    assert [each["charged"] for each in result.overcharges] == ["9.00"]
    document, _lines = said_of(result)
    assert [each["charged"] for each in document["overcharges"]] == ["9.00"]
    assert "charged 9.00 USD, and said that it costs 5.00 USD" in capsys.readouterr().err


def test_only_so_many_that_look_like_receipts_are_checked(
    site: Site, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = []

    def verify(document: Any, keys: Any) -> str | None:
        checked.append(document)
        return verify_receipt(document, keys)

    monkeypatch.setattr(spending, "verify_receipt", verify)
    receipt, keys = log.add(), site.manifest["keys"]
    forged = [receipt | {"id": f"rc_{number:022d}"} for number in range(2, spending.MAX_CANDIDATES + 500)]
    assert spending.receipts_in([receipt, *forged], site=site.authority, keys=keys) == (receipt,)
    assert len(checked) == spending.MAX_CANDIDATES
    assert spending.receipts_in([*forged, receipt], site=site.authority, keys=keys) == ()


def test_key_with_a_strange_name_does_not_hide_the_others(site: Site, client: AgentClient, log: Log) -> None:
    site.manifest["keys"] = [{"kid": ["x"]}, {"kid": None}, {}, *site.manifest["keys"]]
    assert client.verify_receipt(site.url, log.add()) is None


def test_manifest_with_too_many_keys_is_refused(site: Site, client: AgentClient, log: Log) -> None:
    site.manifest["keys"] *= 101
    assert refusal(lambda: client.discover_actions(site.url)) == ("manifest_invalid", "shape")
    site.manifest["keys"].pop()
    assert len(client.discover_actions(site.url).keys) == 100


def test_money_that_is_spent_is_not_promised_again(
    site: Site, client: AgentClient, log: Log, grant: Callable[..., str]
) -> None:
    small = grant("pay", spending=("USD", 5_00, 9_00))
    large = grant("pay", spending=("USD", 6_00, 60_00))
    site.action("pay", effect="spend", scope="pay", cost={"currency": "USD", "amount": 5})
    site.script("/api/pay", Reply(value={"receipt": log.add(5_00, grant=small, root=small)}))
    assert client.call_action(site.url, "pay").grant == small
    assert client.call_action(site.url, "pay").grant == large


@pytest.mark.parametrize(
    ("members", "next_grant"),
    [
        ({"limit": "total", "remaining": "4.99"}, "large"),
        ({"limit": "total", "remaining": "0.00"}, "large"),
        ({"limit": "total", "remaining": "5.00"}, "small"),
        ({"limit": "total", "remaining": "lots"}, "small"),
        ({"limit": "total", "remaining": 0}, "small"),
        ({"limit": "per_tx", "remaining": "0.00"}, "small"),
        ({}, "small"),
    ],
)
def test_site_that_says_what_is_left_is_believed(
    site: Site, client: AgentClient, grant: Callable[..., str], members: dict[str, Any], next_grant: str
) -> None:
    small = grant("pay", spending=("USD", 5_00, 9_00))
    large = grant("pay", spending=("USD", 6_00, 60_00))
    site.action("pay", effect="spend", scope="pay", cost={"currency": "USD", "amount": 5})
    site.script("/api/pay", error(403, "mandate_exceeded", currency="USD", **members))
    with pytest.raises(SiteError):
        client.call_action(site.url, "pay")
    assert client.call_action(site.url, "pay").grant == {"small": small, "large": large}[next_grant]


def test_counting_knows_charges_refunds_roots_and_what_was_counted(site: Site) -> None:
    log = Log(site)
    charge, other = log.add(5_00), log.add(2_00, grant=ROOT)
    refund = log.add(1_00, kind="refund", refund_of=charge["id"])
    record = count(SiteRecord(), [charge, charge])
    assert (record.spent, record.counted, record.after) == (
        {LEAF: 5_00, ROOT: 5_00},
        {charge["id"]: 1},
        0,
    )
    record = count(record, [charge, other, refund], after=3)
    assert (record.spent, record.counted, record.after) == ({LEAF: 4_00, ROOT: 6_00}, {}, 3)
    assert count(record, [charge, other, refund]) == record
    assert count(record, [], after=1).after == 3


def test_receipts_of_grants_that_nobody_has_do_not_fill_the_key_store(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spending, "MAX_GRANTS", 5)
    monkeypatch.setattr(spending, "MAX_COUNTED", 4)
    log = Log(site)
    receipts = [log.add(1_00, grant=f"gr_{number:022d}") for number in range(8)]
    record = count(SiteRecord(), receipts, held={ROOT, receipts[2]["grant"]})
    assert record.spent == {ROOT: 8_00, receipts[2]["grant"]: 1_00}
    assert record.counted == {each["id"]: each["seq"] for each in receipts[4:]}


# --- all receipts ---


def test_all_receipts_are_read_page_by_page_and_signed_with_the_key_alone(
    site: Site, client: AgentClient, log: Log, keystore: KeyStore, grant: Callable[..., str]
) -> None:
    grant("*")
    for _ in range(5):
        log.add()
    assert client.receipts(site.url) == log.receipts
    pages = [seen for seen in site.seen if seen.path.startswith(f"{LIST}?")]
    assert [seen.path.partition("?")[2] for seen in pages] == [
        "after=0&limit=100",
        "after=2&limit=100",
        "after=4&limit=100",
    ]
    for seen in pages:
        assert site.signer_of(seen) == AGENT.public
        assert "agent-grant" not in seen.headers
    record = keystore.site(site.authority)
    assert record.head is not None
    assert (record.head["seq"], record.after, record.spent) == (5, 5, {LEAF: 25_00, ROOT: 25_00})


def test_reading_again_counts_nothing_twice(
    site: Site, client: AgentClient, log: Log, keystore: KeyStore
) -> None:
    log.add()
    client.receipts(site.url)
    log.add()
    client.receipts(site.url)
    client.receipts(site.url)
    assert keystore.site(site.authority).spent == {LEAF: 10_00, ROOT: 10_00}


def test_site_without_receipts_gives_an_empty_list(site: Site, client: AgentClient, log: Log) -> None:
    assert client.receipts(site.url) == []


def test_site_that_names_no_endpoint_has_none(site: Site, client: AgentClient) -> None:
    assert refusal(lambda: client.receipts(site.url)) == ("not_found", None)
    site.manifest["endpoints"] = {"receipts": "https://evil.example/receipts"}
    assert refusal(lambda: client.receipts(site.url)) == ("not_found", None)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda page: [], "malformed"),
        (lambda page: {"items": {}}, "malformed"),
        (lambda page: {**page, "items": [{}]}, "malformed"),
        (lambda page: {**page, "items": [page["items"][0] | {"item": "other"}]}, "signature"),
        (lambda page: {**page, "items": page["items"][::-1]}, "order"),
        (lambda page: {**page, "items": page["items"][:1] * 2}, "order"),
        (lambda page: {**page, "next_cursor": 5}, "malformed"),
        (lambda page: {**page, "next_cursor": "0"}, "malformed"),
        (lambda page: {"items": [], "next_cursor": "9"}, "malformed"),
    ],
)
def test_list_that_does_not_hold_is_refused(
    site: Site, client: AgentClient, log: Log, spoil: Callable[[Any], Any], reason: str
) -> None:
    log.add()
    log.add()
    site.scripts[LIST].clear()
    site.script(LIST, lambda seen: Reply(value=spoil(log.page(seen).value)))
    assert refusal(lambda: client.receipts(site.url)) == ("response_invalid", reason)


def test_receipt_of_another_site_in_the_list_is_refused(site: Site, client: AgentClient, log: Log) -> None:
    log.add(site="other.example")
    assert refusal(lambda: client.receipts(site.url)) == ("response_invalid", "site")


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (lambda log: {}, "malformed"),
        (lambda log: log.head() | {"seq": 9}, "signature"),
        (lambda log: log.head(key=PERSON), "unknown_key"),
        (lambda log: log.head(site="other.example"), "site"),
        (lambda log: log.head(seq=1, hash=receipt_hash(log.receipts[0])), "truncated"),
        (lambda log: log.head(hash="sha256:" + "0" * 64), "head"),
    ],
)
def test_head_that_does_not_fit_the_receipts_is_refused(
    site: Site, client: AgentClient, log: Log, head: Callable[[Log], Any], reason: str, keystore: KeyStore
) -> None:
    log.add()
    log.add()
    site.scripts[HEAD].clear()
    site.script(HEAD, Reply(value=head(log)))
    assert refusal(lambda: client.receipts(site.url)) == ("response_invalid", reason)
    assert keystore.site(site.authority).head is None


def test_log_that_was_cut_since_shows(site: Site, client: AgentClient, log: Log) -> None:
    log.add()
    log.add()
    client.receipts(site.url)
    log.receipts.pop()
    assert refusal(lambda: client.receipts(site.url)) == ("response_invalid", "truncated")


def test_log_that_was_rewritten_since_shows(site: Site, client: AgentClient, log: Log) -> None:
    log.add()
    client.receipts(site.url)
    log.receipts.clear()
    log.add(amount=1)
    assert refusal(lambda: client.receipts(site.url)) == ("response_invalid", "head")
    log.add()
    assert refusal(lambda: client.receipts(site.url)) == ("response_invalid", "head")


def test_refusal_of_the_list_is_the_sites_error(site: Site, client: AgentClient, log: Log) -> None:
    site.scripts[LIST].clear()
    site.script(LIST, error(401, "grant_required"))
    with pytest.raises(SiteError) as caught:
        client.receipts(site.url)
    assert caught.value.code == "grant_required"


def test_page_with_more_than_was_asked_for_is_refused(site: Site, client: AgentClient, log: Log) -> None:
    for _ in range(101):
        log.add()
    log.page_size = 101
    assert refusal(lambda: client.receipts(site.url)) == ("response_invalid", "malformed")


def test_an_honest_site_is_not_called_a_cheat_because_another_process_read_on_meanwhile(
    site: Site, client: AgentClient, log: Log, keystore: KeyStore
) -> None:
    log.add()
    early = log.head()

    def while_another_reads(seen: Seen) -> Reply:
        log.add()
        log.serve()
        with AgentClient(KeyStore(keystore.path)) as other:
            assert len(other.receipts(site.url)) == 2
        return Reply(value=early)

    site.scripts.pop(HEAD)
    site.script(HEAD, while_another_reads)
    assert len(client.receipts(site.url)) == 1
    record = keystore.site(site.authority)
    assert record.head is not None
    assert (record.head["seq"], record.after, record.spent[LEAF]) == (2, 2, 10_00)
