"""Requests that wait, on real servers with few threads: others are answered meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import httpx
import pytest

from tests.aim.servers.running import serving
from tests.aim.test_http_servers import Remote
from tests.aim.wire import encoded
from tests.support.races import KINDS, Database, fresh_database

WAIT = "/v2/events?after=now&wait=25"
PATIENCE = 15.0
"""Seconds: less than those who wait do, so that nobody is answered only because they have ended."""


@contextmanager
def server(
    kind: str, folder: Path, count: int, also: Sequence[str] = ()
) -> Iterator[tuple[Database, str, list[Remote]]]:
    """A server with so many agents, all strangers."""
    with fresh_database(kind, folder) as database, serving("gunicorn", database, also=also) as origin:
        agents = [Remote(f"agent-{number}", origin) for number in range(count)]
        for agent in agents:
            agent.remote_register()
        yield database, origin, agents


@pytest.mark.parametrize("kind", KINDS)
def test_however_many_wait_others_are_answered(kind: str, tmp_path: Path) -> None:
    with server(kind, tmp_path, 4, ("--threads", "2")) as (_, origin, agents), ThreadPoolExecutor(4) as pool:
        waiting = {pool.submit(agent.raw, "GET", WAIT): agent for agent in agents}
        # One of the two threads waits.
        for told in islice(as_completed(waiting, timeout=PATIENCE), 3):
            assert told.result()[2]["retry_after"] == 1
            del waiting[told]
        [(last, waiter)] = waiting.items()
        assert httpx.get(f"{origin}/v2/policy", timeout=PATIENCE).status_code == 200
        assert not last.done()
        assert agents[0].raw("POST", "/v2/messages", encoded(agents[0].write(waiter)))[0] == 202
        assert last.result(PATIENCE)[2]["events"]


def test_without_a_thread_to_spare_nobody_waits(tmp_path: Path) -> None:
    with server("sqlite", tmp_path, 1, ("--threads", "1")) as (_, _, [alice]):
        status, headers, answer = alice.raw("GET", WAIT)
    assert (status, answer["events"], answer["retry_after"]) == (200, [], 1)
    assert ("retry-after", "1") in headers


def test_a_lock_that_somebody_holds_stops_no_server(tmp_path: Path) -> None:
    with server("postgres", tmp_path, 6) as (database, origin, agents), ThreadPoolExecutor(6) as pool:
        written = [
            encoded(one.write(other)) for one, other in zip(agents, [*agents[1:], agents[0]], strict=True)
        ]
        for row in ("agentweb_loghead.name", "agentweb_account.agent_id"):
            with _holding(database, *row.split(".")):
                sent = [
                    pool.submit(agent.raw, "POST", "/v2/messages", body)
                    for agent, body in zip(agents, written, strict=True)
                ]
                assert httpx.get(f"{origin}/v2/policy", timeout=PATIENCE).status_code == 200
                for each in sent:
                    status, headers, answer = each.result()
                    found = (status, answer["error"]["code"], answer["error"].get("retry_after"))
                    assert found == (503, "overloaded", 1)
                    assert ("retry-after", "1") in headers
        for agent, body in zip(agents, written, strict=True):
            assert agent.raw("POST", "/v2/messages", body)[0] == 202


@contextmanager
def _holding(database: Database, table: str, column: str) -> Iterator[None]:
    """Somebody has a transaction open that has changed every row of the table."""
    import psycopg
    from psycopg import sql

    with psycopg.connect(
        host=os.environ.get("PGHOST", "127.0.0.1"),
        port=os.environ.get("PGPORT", "5432"),
        user=os.environ.get("PGUSER", "postgres"),
        password=os.environ.get("PGPASSWORD", ""),
        dbname=database.name,
    ) as connection:
        change = sql.SQL("UPDATE {table} SET {column} = {column}")
        connection.execute(change.format(table=sql.Identifier(table), column=sql.Identifier(column)))
        yield
        connection.rollback()
