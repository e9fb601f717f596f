"""How much a database looks at for a call, in a measure of its own: not in time."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

_STEPS = 20


def looked_at(call: Callable[[], Any]) -> int:
    """What the reading statements of a call cost: on SQLite steps of its machine, on PostgreSQL rows of all nodes of
    the plans that large tables get."""
    return _rows(call) if connection.vendor == "postgresql" else _steps(call)


def _steps(call: Callable[[], Any]) -> int:
    connection.ensure_connection()
    count = 0

    def step() -> int:
        nonlocal count
        count += _STEPS
        return 0

    connection.connection.set_progress_handler(step, _STEPS)
    try:
        call()
    finally:
        connection.connection.set_progress_handler(None, _STEPS)
    return count


def _rows(call: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as queries:
        call()
    found = 0
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        cursor.execute("SET LOCAL enable_seqscan = off")
        for query in queries:
            for statement in str(query["sql"]).split("; "):
                if statement.startswith(("SELECT", "WITH")) and "FOR UPDATE" not in statement:
                    cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}".replace("%", "%%"))
                    [(plan,)] = cursor.fetchall()
                    found += _rows_of((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])
        cursor.execute("SET LOCAL enable_seqscan = on")
    return found


def _rows_of(node: dict[str, Any]) -> int:
    own = (
        node["Actual Rows"]
        + node.get("Rows Removed by Filter", 0)
        + node.get("Rows Removed by Join Filter", 0)
    )
    return int(own * node["Actual Loops"]) + sum(map(_rows_of, node.get("Plans", [])))
