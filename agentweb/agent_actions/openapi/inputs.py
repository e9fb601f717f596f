"""The one input of an action, of an operation's parameters and its body.

Path-item and operation parameters are merged, the operation's winning by name and place. A name in two places becomes
``id__path`` and ``id__query``; a body keeps its names. A body that is not a plain object is the member ``body``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agentweb.agent_actions.openapi.references import ReferenceProblem, References, Schema
from agentweb.agent_actions.openapi.report import Report

BODY: Final = "body"
QUERY_METHODS: Final = frozenset({"GET", "DELETE"})
"""Methods whose input travels in the query string."""

_JSON: Final = "application/json"
_JSON_LIKE: Final = re.compile(r"application/[a-z0-9.!#$&^_-]+\+json")
_VARIABLE: Final = re.compile(r"\{([^{}/]+)\}")
_IGNORED_HEADERS: Final = frozenset({"accept", "content-type", "authorization"})
_PLAIN: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "title", "description", "$defs", "examples"}
)
"""What a schema may have so that its members can stand among others."""


@dataclass(slots=True)
class Input:
    """``schema`` is the action's input, ``path`` the path with its inputs' names; ``request`` says where inputs travel
    that do not go where the method has them go, empty where all do."""

    schema: Any
    path: str
    request: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    place: str
    schema: Any
    is_required: bool
    description: str


class _Members:
    """The members of the input that is being put together."""

    def __init__(self) -> None:
        self.properties: dict[str, Any] = {}
        self.required: list[str] = []
        self.defs: dict[str, Any] = {}

    def add(self, name: str, schema: Any, *, is_required: bool) -> None:
        self.properties[name] = self._taken(schema)
        if is_required:
            self.required.append(name)

    def _taken(self, schema: Any) -> Any:
        """The schema with its definitions moved to the root, where its references point."""
        if not isinstance(schema, Mapping) or not isinstance(schema.get("$defs"), Mapping):
            return schema
        for name, each in schema["$defs"].items():
            # One document names one component one thing.
            self.defs.setdefault(name, each)
        return {word: value for word, value in schema.items() if word != "$defs"}

    def schema(self, *, is_closed: bool | None, words: Mapping[str, Any]) -> Schema:
        found: Schema = {"type": "object", **words, "properties": self.properties}
        if self.required:
            found["required"] = self.required
        if is_closed:
            found["additionalProperties"] = False
        if self.defs:
            found["$defs"] = self.defs
        return found


def read_input(
    method: str,
    path: str,
    item: Mapping[str, Any],
    operation: Mapping[str, Any],
    references: References,
    report: Report,
    where: str,
) -> Input | None:
    """The input of an operation; None when it cannot be one, which the report then says."""
    parameters = list(_parameters(item, operation, references, report, where))
    variables = _VARIABLE.findall(path)
    declared = {parameter.name for parameter in parameters if parameter.place == "path"}
    for name in variables:
        if name not in declared:
            report.note(
                where, "path_parameter", f"The path's {{{name}}} is declared nowhere; it is taken as a text."
            )
            parameters.append(_Parameter(name, "path", {"type": "string"}, True, ""))
    for name in sorted(declared - set(variables)):
        report.error(where, "path_parameter", f"The path has no {{{name}}}, which is declared as one of it.")
    parameters = [each for each in parameters if each.place != "path" or each.name in variables]
    body, is_body_required = _body(operation, references, report, where)
    if method in QUERY_METHODS and body is not None:
        report.loss(where, "body", f"A {method} of an action has no body; what it takes there is left out.")
        if is_body_required:
            report.error(where, "body", f"Its body is required, and a {method} of an action has none.")
        body = None
    return _assembled(method, path, parameters, body, is_body_required, report, where)


def _assembled(
    method: str,
    path: str,
    parameters: list[_Parameter],
    body: Any,
    is_body_required: bool,
    report: Report,
    where: str,
) -> Input | None:
    is_plain = isinstance(body, Mapping) and _is_plain(body)
    if body is not None and not parameters and (is_plain or _is_object(body)):
        return Input(_whole(body, is_body_required, report, where), path)
    members, request = _Members(), dict[str, Any]()
    of_body = dict(body.get("properties", {})) if body is not None and is_plain else {}
    counts = Counter(parameter.name for parameter in parameters)
    if body is not None and not is_plain:
        of_body[BODY] = body
        request[BODY] = BODY
    names: dict[str, str] = {}
    for parameter in parameters:
        is_doubled = counts[parameter.name] > 1 or parameter.name in of_body
        name = f"{parameter.name}__{parameter.place}" if is_doubled else parameter.name
        if name in names.values() or name in of_body:
            report.error(where, "name", f"Two inputs would be called {name!r}.")
            return None
        if parameter.place == "path":
            path = path.replace(f"{{{parameter.name}}}", f"{{{name}}}")
        elif method not in QUERY_METHODS or name != parameter.name:
            request.setdefault("query", {})[name] = parameter.name
        names[f"{parameter.place} {parameter.name}"] = name
        members.add(name, _described(parameter), is_required=parameter.is_required)
    words: dict[str, Any] = {}
    is_closed: bool | None = body is None
    if body is not None and is_plain:
        words = {word: body[word] for word in ("title", "description") if word in body}
        is_closed = body.get("additionalProperties") is False
        members.defs |= body.get("$defs", {})
        required = body.get("required", []) if is_body_required else []
        if body.get("required") and not is_body_required:
            _say_optional(report, where)
        for name, schema in of_body.items():
            members.add(name, schema, is_required=name in required)
    elif body is not None:
        members.add(BODY, body, is_required=is_body_required)
        is_closed = True
    return Input(members.schema(is_closed=is_closed, words=words), path, request)


def _whole(body: Schema, is_required: bool, report: Report, where: str) -> Schema:
    """A body as the whole input. Without ``required`` at the request body a caller may send none at all."""
    if is_required or "required" not in body:
        return body
    _say_optional(report, where)
    return {word: value for word, value in body.items() if word != "required"}


def _say_optional(report: Report, where: str) -> None:
    report.note(
        where,
        "optional_body",
        "The request body is not required (OpenAPI's default), so neither are its members; write required: true.",
    )


def _is_plain(schema: Mapping[str, Any]) -> bool:
    return (
        schema.get("type") == "object"
        and set(schema) <= _PLAIN
        and isinstance(schema.get("properties"), Mapping)
        and isinstance(schema.get("required", []), list)
        and isinstance(schema.get("$defs", {}), Mapping)
    )


def _is_object(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "object"


def _described(parameter: _Parameter) -> Any:
    schema = parameter.schema
    if parameter.description and isinstance(schema, Mapping) and "description" not in schema:
        return {**schema, "description": parameter.description}
    return schema


def _parameters(
    item: Mapping[str, Any],
    operation: Mapping[str, Any],
    references: References,
    report: Report,
    where: str,
) -> Iterator[_Parameter]:
    merged: dict[tuple[str, str], Mapping[str, Any]] = {}
    for listed in (item.get("parameters"), operation.get("parameters")):
        for given in listed if isinstance(listed, list) else []:
            found = references.follow(given)
            if not isinstance(found, Mapping) or not isinstance(found.get("name"), str):
                raise ReferenceProblem("a parameter is none")
            merged[found["name"], str(found.get("in"))] = found
    for (name, place), found in merged.items():
        if place in {"header", "cookie"}:
            if place == "header" and name.lower() in _IGNORED_HEADERS:
                continue
            needed = (
                " It is required, so the API may refuse the call." if found.get("required") is True else ""
            )
            report.loss(
                where,
                place,
                f"The {place} {name!r} is left out: an action's input does not travel there.{needed}",
            )
        elif place not in {"path", "query"}:
            report.error(where, "parameter", f"The parameter {name!r} is in {place!r}, which is no place.")
        else:
            yield _Parameter(
                name,
                place,
                _parameter_schema(found, references, report, where),
                place == "path" or found.get("required") is True,
                found["description"] if isinstance(found.get("description"), str) else "",
            )


def _parameter_schema(found: Mapping[str, Any], references: References, report: Report, where: str) -> Any:
    name, place = found["name"], found["in"]
    if "schema" in found:
        explode = found.get("explode", found.get("style", "form") == "form")
        if found.get("style", "form") not in ("form", "simple") or (place == "query" and explode is not True):
            report.loss(
                where,
                "style",
                f"The parameter {name!r} is written in a style of its own; an action repeats the name for each item.",
            )
        schema = references.schema(found["schema"], drop="readOnly")
    else:
        content = found.get("content")
        media_type, given = _json_of(content if isinstance(content, Mapping) else {})
        if media_type is None:
            report.loss(
                where, "content", f"The parameter {name!r} has no schema in JSON; it is taken as a text."
            )
            return {"type": "string"}
        report.loss(
            where, "content", f"The parameter {name!r} is JSON in a text; an action writes it plainly."
        )
        schema = references.schema(given, drop="readOnly")
    example = found.get("example")
    if example is not None and isinstance(schema, dict):
        schema.setdefault("examples", [example])
    return schema


def _body(
    operation: Mapping[str, Any], references: References, report: Report, where: str
) -> tuple[Any, bool]:
    """(schema of the JSON body, whether it is required); None for none."""
    given = references.follow(operation.get("requestBody"))
    if not isinstance(given, Mapping):
        return None, False
    content = given.get("content")
    media_type, schema = _json_of(content if isinstance(content, Mapping) else {})
    is_required = given.get("required") is True
    if media_type is None:
        kinds = ", ".join(sorted(map(str, content))) if isinstance(content, Mapping) else "nothing"
        if is_required:
            report.error(where, "media_type", f"Its body is required and is {kinds}; an action sends JSON.")
        else:
            report.loss(where, "media_type", f"Its body is {kinds}; an action sends JSON, so it is left out.")
        return None, False
    others = [str(each) for each in content if str(each) != media_type]  # type: ignore[union-attr]
    if others:
        report.note(
            where, "media_type", f"Of its bodies {media_type} is taken; {', '.join(sorted(others))} is not."
        )
    return references.schema(schema, drop="readOnly"), is_required


def _json_of(content: Mapping[str, Any]) -> tuple[str | None, Any]:
    """(media type, schema) of what is JSON, plain ``application/json`` before the others."""
    found = {str(name).partition(";")[0].strip().lower(): (str(name), each) for name, each in content.items()}
    names = [name for name in found if name == _JSON] or sorted(
        name for name in found if _JSON_LIKE.fullmatch(name)
    )
    if not names:
        return None, None
    written, media = found[names[0]]
    return written, media.get("schema", True) if isinstance(media, Mapping) else True
