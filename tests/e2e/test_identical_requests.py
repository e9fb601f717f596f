"""One intent sent many times at once, over real HTTP, to two server processes on one database."""

from __future__ import annotations

import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentweb.wire.http_signature import sign_request
from agentweb.wire.signing import SigningKey
from tests.e2e.servers import serving
from tests.support.races import Database, run

ORIGIN = "https://shop.example"
AGENT = SigningKey.from_seed(bytes(range(32)))
KEY = "one-intent-0123456789"


def send(address: tuple[str, int], grant: str, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
    """One attempt: the same call and key, a fresh nonce and signature."""
    headers = {"Agent-Grant": grant, "Idempotency-Key": KEY, "Content-Type": "application/json"}
    headers |= sign_request(
        method="POST",
        url=ORIGIN + path,
        body=body,
        key=AGENT,
        headers={name.lower(): value for name, value in headers.items()},
        created=int(time.time()),
    )
    connection = http.client.HTTPConnection(*address, timeout=60)
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def until_answered(address: tuple[str, int], grant: str, path: str, body: bytes) -> tuple[bool, bytes]:
    for _ in range(100):
        status, headers, content = send(address, grant, path, body)
        if status == 200:
            return headers.get("idempotent-replayed") == "true", content
        code = json.loads(content)["error"]["code"]
        assert code in {"idempotency_in_progress", "unavailable", "rate_limited"}, content
        time.sleep(min(int(headers["retry-after"]), 1) * 0.2)
    raise AssertionError("never answered")


@pytest.mark.parametrize(
    ("path", "value", "spending"),
    [
        ("/agent/write_note_slowly", {"text": "tea"}, None),
        ("/agent/pay", {"item": "tea", "price": 7}, "USD:50.00/200.00"),
    ],
)
def test_sixteen_identical_requests_act_once_and_are_answered_alike(
    race_database: Database, path: str, value: Any, spending: str | None
) -> None:
    grant = run(race_database, "tests.e2e.servers:issue", AGENT.public, ["notes:write", "shop:pay"], spending)
    body = json.dumps(value).encode()
    with serving(race_database, 2) as addresses, ThreadPoolExecutor(16) as pool:
        answers = list(
            pool.map(lambda number: until_answered(addresses[number % 2], grant, path, body), range(16))
        )
    assert len({content for _, content in answers}) == 1
    assert [replayed for replayed, _ in answers].count(False) == 1
    books = run(race_database, "tests.ledger.racers:account")
    assert books["audited_ok"] == 1
    assert run(race_database, "tests.ledger.racers:notes") == (0 if spending else 1)
    assert (books["receipts"], books["chain"]) == ((700, None) if spending else (0, None))
