"""An action's input out of the request: path, query string or JSON body, each value from one place only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from agentweb.catalog.actions import Action
from agentweb.wire.errors import AgentError, Code
from agentweb.wire.strict_json import Json, loads

IN_PATH: Final = "path"
IN_QUERY: Final = "query"
IN_REQUEST: Final = "request"


def read_input(
    action: Action,
    *,
    path_values: Mapping[str, str],
    query_pairs: Iterable[tuple[str, str]],
    body: bytes,
    max_bytes: int,
) -> Json:
    """The input as typed values, not yet checked against the schema.

    ``path_values`` are the texts of the path's parameters, ``query_pairs`` the decoded query string. GET and
    DELETE take the query string, the others a JSON body, where no body stands for ``{}``. Raises the codes of
    ``strict_json.loads``; and InputError, with the schema's problems too, for texts that have not the type of their
    input, for parameters of the path that come a second time, and for a body where the query string counts.
    """
    query = list(query_pairs)
    problems: list[dict[str, Any]] = [
        _repeated(name, IN_QUERY) for name in path_values if any(name == given for given, _ in query)
    ]
    texts = list(path_values.items())
    value: Json = {}
    if action.takes_query:
        texts = [(name, text) for name, text in query if name not in path_values] + texts
        if body:
            problems.append(_unexpected_body(action.method))
    elif body:
        value = loads(body, max_bytes=max_bytes)
        if isinstance(value, dict):
            problems += [_repeated(name, IN_REQUEST) for name in path_values if name in value]
        elif path_values:
            problems.append(_not_an_object())
    if texts:
        typed, unreadable = action.input.coerce_strings(texts)
        problems += unreadable
        if isinstance(value, dict):
            value = {**value, **typed}
    if problems:
        action.input.check(value, also=problems)
    return value


def path_values(action: Action, captured: Mapping[str, Any]) -> dict[str, str]:
    """The texts that a route captured (``p0``, ``p1`` …) by the names of the inputs that they are."""
    return {name: str(captured[f"p{at}"]) for at, name in enumerate(action.path_parameters)}


def locate(error: AgentError, action: Action) -> AgentError:
    """The error with ``in`` on every problem of a value that travelled in the path or the query string."""
    if error.code != Code.INVALID_INPUT or not error.problems:
        return error
    in_path = {f"/{name}" for name in action.path_parameters}
    for problem in error.problems:
        place = IN_PATH if problem.get("pointer") in in_path else IN_QUERY if action.takes_query else None
        if place is not None:
            problem.setdefault("in", place)
    return error


def _repeated(name: str, place: str) -> dict[str, Any]:
    message = f"'{name}' travels in the path only; remove it here."
    return {"pointer": f"/{name}", "field": name, "code": "unknown_field", "message": message, "in": place}


def _not_an_object() -> dict[str, Any]:
    message = "This must be an object."
    return {"pointer": "", "field": "input", "code": "type", "message": message, "expected": "object"}


def _unexpected_body(method: str) -> dict[str, Any]:
    message = f"{method} takes its input in the query string; send no body."
    return {"pointer": "", "field": "body", "code": "unexpected_body", "message": message, "in": IN_REQUEST}
