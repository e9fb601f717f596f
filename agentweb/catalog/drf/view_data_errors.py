"""Errors with which a view fails because of what a client sent: the caller's mistake, and not the site's crash.

A filter of the view hands a text to the database that the database does not take: ``title__regex=[``, a number or a
moment out of its range, a NUL in a text of PostgreSQL. Over HTTP the view answers 500; an agent learns which input to
mend. What is judged is what the database itself says (class and SQLSTATE, or SQLite's words), and Python's own errors
where a query was being made of the input. A call that sent nothing cannot have sent anything wrong, and whatever else
the database says (no connection, no turn, no such table) is none of the caller's business.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, Final

from django.core.exceptions import FieldError, ValidationError
from django.db import DatabaseError, DataError, connections

from agentweb.wire.errors import InputError
from agentweb.wire.schema.problems import make_problem

logger = logging.getLogger("agentweb.catalog")

_MESSAGE: Final = (
    "The site's database does not take this: something is malformed, out of range, or names nothing there."
)

# PostgreSQL, appendix A of its manual: "syntax error" is also said of texts in languages of their own, which a client
# may write; the file of the server that says it tells them from SQL. "Program limit exceeded" is a text that is too
# long for an index or a search, or a condition with too many parts.
_SYNTAX_ERROR: Final = "42601"
_LANGUAGES_OF_CLIENTS: Final = ("jsonpath", "tsquery", "tsvector")
_LIMIT_EXCEEDED: Final = frozenset({"54000", "54001"})

# SQLite has one code for all of them (SQLITE_ERROR), and its words are never translated.
_SAID_BY_SQLITE: Final = (
    "user-defined function raised exception",  # REGEXP, which is Django's own function
    "LIKE or GLOB pattern too complex",
    "Expression tree is too large",
    "parser stack overflow",
    "too many SQL variables",
    "malformed JSON",
    "bad JSON path",
    "JSON path error",
)
_NO_SUCH_NUMBER: Final = "SQLITE_MISMATCH"

_MAKING_QUERIES: Final = frozenset({"get_queryset", "filter_queryset", "paginate_queryset"})
"""Methods of views, filters and paginators that make a query of what was sent."""

_READING_ROWS: Final = frozenset({"apply_converters", "cursor_iter", "from_db"})
"""Functions of Django that read what is stored: a value that fails there was not sent by this caller."""

_QUOTES: Final = (("'", "'"), ('"', '"'), ("“", "”"))
_NUMBER: Final = re.compile(r"-?[0-9]+")


def refusal_of(error: Exception, sent: Mapping[str, Iterable[str]], label: str) -> InputError | None:
    """The refusal (``invalid_input``) that ``error`` of a view comes to; None for a crash of the site.

    ``sent`` are the texts that the call sent, by the members of its input; ``label`` names the action in the log,
    where the error stands in any case, since the view answers 500 to everybody else.
    """
    if not sent:
        return None
    named = [name for name, texts in sent.items() if any(_names(error, text) for text in texts)]
    if not (_is_refused_by_database(error) or _is_of_a_query(error, is_named=bool(named))):
        return None
    logger.warning("%s: the database refused what was sent", label, exc_info=error)
    blamed = named or (list(sent) if len(sent) == 1 else [])
    paths: list[tuple[str, ...]] = [(name,) for name in blamed] or [()]
    return InputError([make_problem(path, "invalid", _MESSAGE) for path in paths])


@contextmanager
def overhearing() -> Iterator[list[DatabaseError]]:
    """What the database refuses in the block, for where the view makes something else of it."""
    heard: list[DatabaseError] = []

    def execute(run: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        try:
            return run(sql, params, many, context)
        except DatabaseError as error:
            if _is_refused_by_database(error):
                heard.append(error)
            raise

    with ExitStack() as stack:
        for connection in connections.all():
            stack.enter_context(connection.execute_wrapper(execute))
        yield heard


def _is_refused_by_database(error: Exception) -> bool:
    """Whether the database speaks of the data of a statement, and not of itself or of the statement."""
    if isinstance(error, DataError):
        return True
    if not isinstance(error, DatabaseError):
        return False
    cause: Any = error.__cause__
    state = getattr(cause, "sqlstate", None)
    if state is not None:
        return (
            str(state).startswith("22")
            or state in _LIMIT_EXCEEDED
            or (state == _SYNTAX_ERROR and _is_of_a_text(cause))
        )
    name = getattr(cause, "sqlite_errorname", None)
    return name is not None and (name == _NO_SUCH_NUMBER or str(cause).startswith(_SAID_BY_SQLITE))


def _is_of_a_text(cause: Any) -> bool:
    file = getattr(getattr(cause, "diag", None), "source_file", None)
    return str(file).startswith(_LANGUAGES_OF_CLIENTS)


def _is_of_a_query(error: Exception, *, is_named: bool) -> bool:
    """Whether a value was found wanting while a query was made of it, before the database saw it."""
    if not isinstance(error, (ValueError, OverflowError, ValidationError, FieldError)):
        return False
    frames = list(_frames(error))
    names = {frame.f_code.co_name for frame in frames}
    if names & _READING_ROWS:
        return False
    if names & _MAKING_QUERIES:
        return True
    # Elsewhere in a view Django's models see values of the site's own too: those are told apart by what is said.
    is_of_models = any(frame.f_globals.get("__name__", "").startswith("django.db.") for frame in frames)
    return is_of_models and (is_named or isinstance(error, OverflowError))


def _frames(error: BaseException) -> Iterator[FrameType]:
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def _names(error: Exception, text: str) -> bool:
    """Whether the error speaks of this text: quotes it, or is Python's of this number."""
    if isinstance(error, DatabaseError):
        # Not the rest, which repeats the statement.
        said = getattr(getattr(error.__cause__, "diag", None), "message_primary", None) or str(error)
    else:
        said = " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
        if _NUMBER.fullmatch(text):
            return re.search(rf"(?<![\w-]){text}(?!\w)", said) is not None
    # Names of fields are quoted in parts.
    parts = re.split(r"__|\W+", text) if isinstance(error, FieldError) else []
    return any(
        f"{before}{part}{after}" in said for part in (text, *parts) if part for before, after in _QUOTES
    )
