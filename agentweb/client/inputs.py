"""From an action and an input to the request that carries it (AGENT_ACTIONS 11, "Where input travels").

Path inputs travel in the path only, the others in the query string for GET and DELETE, else in a JSON body; an action
that was made of an OpenAPI document may say otherwise (its member ``request``).
An input is refused before it is sent when it would not arrive as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote, urlencode

from agentweb.client.manifest import DeclaredCost, ManifestAction
from agentweb.wire.canonical import CanonicalError, canonicalize
from agentweb.wire.errors import AgentError, InputError, MoneyError
from agentweb.wire.money import parse_amount
from agentweb.wire.schema import CompiledSchema
from agentweb.wire.strict_json import Json, dumps, loads

MAX_INPUT: Final = 16_777_216
MAX_TARGET: Final = 60_000
"""Characters of path and query, percent-encoded; httpx sends no URL of more than 65,536. Most servers take 8,000, and
say so themselves."""
_PARAMETER: Final = re.compile(r"\{([^{}/]+)\}")


@dataclass(frozen=True, slots=True)
class Prepared:
    """``target`` is path and query, percent-encoded; ``body`` is empty when there is none."""

    method: str
    target: str
    body: bytes


def read_input(value: object, schema: CompiledSchema) -> Json:
    """The input as the site will read it: exact numbers, nothing shared with the caller's value.

    Raises InputError with every problem.
    """
    try:
        read = loads(dumps(value), max_bytes=MAX_INPUT)  # type: ignore[arg-type]
    except (AgentError, ValueError) as error:
        message = error.message if isinstance(error, AgentError) else str(error)
        raise InputError([_problem("", "json", f"The input is not JSON: {message}")]) from None
    schema.check(read)
    return read


def prepare(action: ManifestAction, value: Json, schema: CompiledSchema) -> Prepared:
    """The request for a valid input. Raises InputError for what cannot travel where this action wants it."""
    if not isinstance(value, dict):
        if action.takes_query or action.path_parameters:
            message = f"{action.method} {action.path} carries named inputs; give an object."
            raise InputError([_problem("", "type", message)])
        return Prepared(action.method, action.path, dumps(value))
    in_path = {name: value[name] for name in action.path_parameters if name in value}
    problems = [problem for name in action.path_parameters for problem in _check_path_value(name, in_path)]
    if problems:
        raise InputError(problems)
    path_texts = [(name, str(_text(item))) for name, item in in_path.items()]
    path = _PARAMETER.sub(lambda match: quote(dict(path_texts)[match[1]], safe=""), action.path)
    rest = {name: item for name, item in value.items() if name not in in_path}
    renamed = action.in_query
    asked = {name: item for name, item in rest.items() if action.takes_query or name in renamed}
    pairs = _pairs(asked)
    _check_arrival(action, schema, pairs + path_texts, in_path | asked)
    query = urlencode([(renamed.get(name, name), text) for name, text in pairs], quote_via=quote, safe="")
    if len(path) + len(query) > MAX_TARGET:
        message = (
            f"The input takes more than {MAX_TARGET} characters of a URL, where it would travel; give less."
        )
        raise InputError([_problem("", "url", message)])
    body = b"" if action.takes_query else _body(action, {n: i for n, i in rest.items() if n not in asked})
    return Prepared(action.method, f"{path}?{query}" if query else path, body)


def _body(action: ManifestAction, members: dict[str, Json]) -> bytes:
    if action.as_body is None:
        return dumps(members)
    return dumps(members[action.as_body]) if action.as_body in members else b""


def cost_of(cost: DeclaredCost | None, value: Json) -> int | None:
    """What the call costs in minor units as declared, None when that is not known beforehand.

    Raises InputError when the input that names the price holds no amount of the currency.
    """
    if cost is None or cost.field is None:
        return cost.amount if cost is not None else None
    pointer = cost.field if cost.field.startswith("/") else "/" + _escape(cost.field)
    found = value
    for part in pointer.split("/")[1:]:
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    try:
        return parse_amount(found, cost.currency)  # type: ignore[arg-type]
    except MoneyError as error:
        raise InputError([_problem(pointer, "amount", error.message)]) from None


def _check_path_value(name: str, in_path: dict[str, Json]) -> list[dict[str, Any]]:
    if name not in in_path:
        return [_problem(f"/{_escape(name)}", "required", "The action's path needs this input.")]
    text = _text(in_path[name])
    if text is None:
        return [_problem(f"/{_escape(name)}", "type", "Only a text, a number or a boolean fits into a path.")]
    if text in {"", ".", ".."}:
        # Encoded or not, servers and proxies take these for steps between folders.
        return [_problem(f"/{_escape(name)}", "path", "A path cannot carry an empty text, '.' or '..'.")]
    return []


def _pairs(values: dict[str, Json]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for name, value in values.items():
        for item in value if isinstance(value, list) else [value]:
            text = "null" if item is None else _text(item)
            if text is not None:
                pairs.append((name, text))
    return pairs


def _text(value: Json) -> str | None:
    """How a scalar is written in a URL; None for what is no scalar."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, Decimal)):
        return dumps(value).decode("ascii")
    return None


def _check_arrival(
    action: ManifestAction, schema: CompiledSchema, pairs: list[tuple[str, str]], sent: dict[str, Json]
) -> None:
    """Will the site, reading the texts by the same schema, get the very input? A URL knows texts only.

    Where the schema says that a member is a text or a number, one that is written alike is the same.
    """
    arrived, _problems = schema.coerce_strings(pairs)
    unions = _scalar_unions(action.input)
    lost = [
        name
        for name, item in sent.items()
        if name not in arrived
        or not (
            _is_same(arrived[name], item)
            or (name in unions and item is not None and _text(item) == _text(arrived[name]))
        )
    ]
    if lost:
        raise InputError(
            [
                _problem(
                    f"/{_escape(name)}",
                    "url",
                    "This value cannot travel in a URL: give a text, a number, a boolean or a list of these, "
                    "of one type that the schema tells.",
                )
                for name in sorted(lost)
            ]
        )


def _scalar_unions(schema: object) -> set[str]:
    """The members of an object schema that are a scalar of several types: ``["string", "integer"]``."""
    members = schema.get("properties") if isinstance(schema, dict) else None
    found = members.items() if isinstance(members, dict) else ()
    return {
        name
        for name, member in found
        if isinstance(member, dict)
        and isinstance(kinds := member.get("type"), list)
        and "string" in kinds
        and not {"array", "object"} & {kind for kind in kinds if isinstance(kind, str)}
    }


def _is_same(one: Json, other: Json) -> bool:
    try:
        return canonicalize([one]) == canonicalize([other])
    except CanonicalError:
        return dumps(one) == dumps(other)


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")  # RFC 6901 section 3


def _problem(pointer: str, code: str, message: str) -> dict[str, Any]:
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    return {"pointer": pointer, "field": ".".join(parts) or "input", "code": code, "message": message}
