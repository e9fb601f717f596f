"""SQL that is written out, once for each place that runs it with every message: composing it anew by the ORM costs
many times what running it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model
from django.utils.dateparse import parse_datetime

from agentweb.access.database import takes_several
from agentweb.access.rows import database
from agentweb.aim.models import Account, Agent, AgentKey, Contact, Event, LogHead, Message

_TABLES: Final[dict[str, type[Model]]] = {
    "account": Account,
    "agent": Agent,
    "agent_key": AgentKey,
    "contact": Contact,
    "event": Event,
    "head": LogHead,
    "message": Message,
}


def connection() -> BaseDatabaseWrapper:
    """The connection of this thread to the database that has the log."""
    return connections[database()]


class Statement:
    """A statement with ``{message}`` and the like for tables, and other names in braces for what varies in number.

    A name that is given as ``name=3`` stands for three parameters, one as ``name=(3, 2)`` for three rows of two, one
    as a text for that text; ``parts`` are texts that are always the same, each of which may name tables and the parts
    before it. Values are parameters, never part of the text.
    """

    def __init__(self, template: str, **parts: str) -> None:
        self._template = template
        self._parts = parts

    def call(self, values: Sequence[Any], **varying: int | tuple[int, int] | str) -> Call:
        """The statement with its values, to be run by ``together``."""
        return Call(self.text(**varying), values)

    def fetch(self, values: Sequence[Any], **varying: int | tuple[int, int] | str) -> list[tuple[Any, ...]]:
        """All rows."""
        [outcome] = together(self.call(values, **varying))
        return outcome.rows

    def run(self, values: Sequence[Any], **varying: int | tuple[int, int] | str) -> int:
        """How many rows were changed."""
        [outcome] = together(self.call(values, **varying))
        return outcome.count

    def text(self, **varying: int | tuple[int, int] | str) -> str:
        return _text(self._template, database(), (*self._parts.items(), *varying.items()))


@dataclass(frozen=True, slots=True)
class Call:
    """A statement with its values."""

    text: str
    values: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a statement gave: its ``rows``, none where it returns none, and the ``count`` of those it touched."""

    rows: list[tuple[Any, ...]]
    count: int


def together(*calls: Call) -> list[Outcome]:
    """Run statements one after the other. PostgreSQL gets them at once: each way there and back costs as much as what
    a small statement does."""
    if len(calls) > 1 and takes_several(connection()):
        with connection().cursor() as cursor:
            cursor.execute(
                "; ".join(call.text for call in calls), [value for call in calls for value in call.values]
            )
            outcomes = [_outcome(cursor)]
            while cursor.nextset():
                outcomes.append(_outcome(cursor))
            return outcomes
    outcomes = []
    for call in calls:
        with connection().cursor() as cursor:
            cursor.execute(call.text, call.values)
            outcomes.append(_outcome(cursor))
    return outcomes


def _outcome(cursor: Any) -> Outcome:
    # All rows: SQLite ends a statement that returns some only when the last one was fetched.
    rows = cursor.fetchall() if cursor.description else []
    return Outcome(rows, cursor.rowcount)


@lru_cache(maxsize=1_024)
def _text(template: str, alias: str, varying: tuple[tuple[str, Any], ...]) -> str:
    quote = connections[alias].ops.quote_name
    names = {name: quote(model._meta.db_table) for name, model in _TABLES.items()}
    names |= {name: _written(given) for name, given in varying if not isinstance(given, str)}
    for name, given in varying:
        if isinstance(given, str):
            names[name] = given.format_map(names)
    return template.format_map(names)


def _written(amount: int | tuple[int, int]) -> str:
    if isinstance(amount, int):
        return ", ".join(["%s"] * amount)
    rows, columns = amount
    return ", ".join([f"({_written(columns)})"] * rows)


def returns_rows() -> bool:
    """Whether a statement that writes can tell what it wrote: SQLite can from 3.35 on; Django runs on older ones."""
    return connection().features.can_return_columns_from_insert


def for_update() -> str:
    """What locks rows that are read. SQLite needs nothing: who has begun to write is alone."""
    return " FOR UPDATE" if connection().features.has_select_for_update else ""


def instant(value: datetime) -> Any:
    """An instant as a parameter."""
    return connection().ops.adapt_datetimefield_value(value)


def read_instant(value: Any) -> datetime:
    """An instant in UTC, of what a column gave: SQLite gives a text, some others a time without a zone."""
    found = parse_datetime(value) if isinstance(value, str) else value
    if not isinstance(found, datetime):
        raise TypeError(f"The database gave {value!r} as an instant.")
    if found.tzinfo is None:
        found = found.replace(tzinfo=connection().timezone)
    return found.astimezone(UTC)


def write_instant(value: datetime) -> str:
    """``YYYY-MM-DDTHH:MM:SS.mmmZ``, as the messenger writes instants."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
