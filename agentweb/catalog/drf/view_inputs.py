"""The input of an endpoint: what its URL, its query string and its body take, as members of one object.

A name that stands in two places is told apart as ``id__path`` and ``id__query``; the body keeps the plain name. A
body that is no object is the member ``body``.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from rest_framework.serializers import BaseSerializer
from rest_framework.utils.mediatypes import media_type_matches
from rest_framework.views import APIView

from agentweb.catalog.drf.openapi import converted
from agentweb.catalog.drf.serializer_schemas import schema_of_serializer
from agentweb.catalog.drf.view_endpoints import Endpoint, Parameter
from agentweb.catalog.drf.view_keys import key_schema, lookup_of
from agentweb.catalog.drf.view_schemas import UNKNOWN, look_at
from agentweb.catalog.schema_numbers import with_safe_numbers
from agentweb.catalog.schema_shapes import is_list_of_scalars, is_object, is_scalar
from agentweb.wire.strict_json import Json

BODY: Final = "body"
"""The member that is the whole body, where the body is no object."""

_WITH_BODY: Final = frozenset({"post", "put", "patch"})
_MAX_PLACES: Final = 20
"""Longer numbers are written with an exponent in a query string."""


class UnknownInput(ValueError):
    """The input cannot be told from the view; the text says why."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One call's input, by where it travels: URL keyword arguments, query pairs, body (None: there is none)."""

    kwargs: dict[str, Any]
    query: list[tuple[str, str]]
    body: Json


@dataclass(frozen=True, slots=True)
class ViewInput:
    """The schema, and where each member travels.

    ``path`` and ``query`` map members to the names that the view knows them by; ``joined`` are the members of the
    query whose lists are written with commas. Every other member is of the body, if ``has_body``.
    """

    schema: dict[str, Any]
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    joined: frozenset[str] = frozenset()
    has_body: bool = False
    body_is_member: bool = False

    def sent(self, value: Mapping[str, Any]) -> Sent:
        """The input by where it travels."""
        kwargs = {name: value[member] for member, name in self.path.items() if member in value}
        query = [
            (self.query.get(member, member), text)
            for member, given in value.items()
            # What an open schema lets through travels like its neighbours.
            if member in self.query or not (self.has_body or member in self.path)
            for text in _texts(given, is_joined=member in self.joined)
        ]
        body: Json = None
        if self.has_body:
            rest = {
                name: each for name, each in value.items() if name not in self.path and name not in self.query
            }
            body = rest.get(BODY) if self.body_is_member else rest
        return Sent(kwargs, query, body)

    def path_of(self, keys: tuple[str | int, ...]) -> tuple[str | int, ...]:
        """Where in the input stands what the view calls by ``keys``, the first a name of the query or body."""
        if not keys:
            return keys
        if self.body_is_member:
            return (BODY, *keys)
        renamed = {name: member for member, name in self.query.items()}
        return (renamed.get(str(keys[0]), keys[0]), *keys[1:])

    @property
    def names(self) -> frozenset[str]:
        """What a view may call the members of its input."""
        members = self.schema.get("properties", {})
        return frozenset(members) | frozenset(self.query.values()) | frozenset(self.path.values())


def derived(endpoint: Endpoint, kwargs: Mapping[str, Any]) -> ViewInput:
    """The input of a view of DRF. ``kwargs`` are schemas of URL keyword arguments that the author names.

    Raises UnknownInput, or SourceError for a serializer that has no schema.
    """
    names = dict.fromkeys([*kwargs, *endpoint.parameters])
    path = "/" + "".join(f"{{{name}}}/" for name in names)
    try:
        look = look_at(endpoint, path)
        parameters = look.parameters()
    except Exception as error:  # the site's own code, which may expect a request
        raise UnknownInput(f"its parameters cannot be told without a request ({_said(error)})") from error
    told = {(each["in"], each["name"]): each for each in parameters}
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for name in names:
        parameter = endpoint.parameters.get(name, Parameter())
        known = kwargs.get(name) or _said_of_url(parameter)
        if known is None and name == lookup_of(endpoint) and _says_little(told.get(("path", name))):
            known = key_schema(endpoint, look.view)
        said = told.get(("path", name), {"schema": {}}) if known is None else {"schema": known}
        found["path", name] = {**said, "required": parameter.is_required}
    for key, each in told.items():
        if each["in"] in {"path", "query"}:
            found.setdefault(key, each)
    try:
        serializer = look.request_serializer()
    except Exception as error:
        raise UnknownInput(f"its serializer cannot be told without a request ({_said(error)})") from error
    return _assembled(found, _body_schema(endpoint, serializer))


def stated(endpoint: Endpoint, schema: Mapping[str, Any] | None, kwargs: Mapping[str, Any]) -> ViewInput:
    """The input as the author wrote it, None for none; the URL's keyword arguments are added where they are not in.

    A member with the name of one (or ``id__path``) goes into the URL, the others into the query string or the body.
    Raises UnknownInput for a query string that is no object.
    """
    is_member = schema is not None and not is_object(schema, schema)
    if is_member and endpoint.method not in _WITH_BODY:
        raise UnknownInput("what travels in a query string is an object")
    whole: dict[str, Any] = {"type": "object", "additionalProperties": False}
    if is_member:
        whole |= _as_member(schema or {})
    elif schema is not None:
        whole = dict(schema)
    members = whole.get("properties", {})
    path: dict[str, str] = {}
    added: dict[str, Any] = {}
    must = []
    for name in dict.fromkeys([*kwargs, *endpoint.parameters]):
        member = f"{name}__path" if f"{name}__path" in members else name
        path[member] = name
        if member not in members:
            parameter = endpoint.parameters.get(name, Parameter())
            added[member] = kwargs.get(name) or _said_of_url(parameter) or _looked_up(endpoint, name)
            must += [member] if parameter.is_required else []
    whole["properties"] = {**added, **members}
    if must:
        whole["required"] = [*must, *whole.get("required", ())]
    if endpoint.method in _WITH_BODY:
        return ViewInput(whole, path=path, has_body=schema is not None, body_is_member=is_member)
    return ViewInput(whole, path=path, query={name: name for name in members if name not in path})


def _says_little(parameter: Mapping[str, Any] | None) -> bool:
    """Whether drf-spectacular found nothing but that a URL is text; with a queryset it looks at the column."""
    schema = {} if parameter is None else parameter.get("schema", {})
    return schema.get("type", "string") == "string" and schema.keys() <= {"type"}


def _looked_up(endpoint: Endpoint, name: str) -> dict[str, Any]:
    """What a keyword argument looks like of which the URL says nothing: a text, if no model knows better."""
    found = key_schema(endpoint) if name == lookup_of(endpoint) else None
    return found or {"type": "string"}


def takes_json(endpoint: Endpoint) -> bool:
    """Whether a parser of the view reads JSON; True where that is decided by the request."""
    cls: Any = endpoint.cls
    if not endpoint.is_drf or cls.get_parsers is not APIView.get_parsers:
        return True
    parsers = endpoint.initkwargs.get("parser_classes", cls.parser_classes)
    return any(media_type_matches(parser.media_type, "application/json") for parser in parsers)


def _as_member(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The words of an object that holds a body of this schema, and nothing else."""
    own = {name: each for name, each in schema.items() if name != "$defs"}
    found: dict[str, Any] = {"properties": {BODY: own}, "required": [BODY]}
    return found | ({"$defs": schema["$defs"]} if "$defs" in schema else {})


def _said_of_url(parameter: Parameter) -> dict[str, Any] | None:
    """The schema that a converter or regular expression of a URL stands for, where it says something."""
    if parameter.is_digits:
        return {"type": "integer", "minimum": 0}
    return {"type": "string", "format": "uuid"} if parameter.looks == "uuid" else None


def _body_schema(endpoint: Endpoint, serializer: Any) -> dict[str, Any] | None:
    if serializer is UNKNOWN:
        raise UnknownInput("its code reads the request's data, and nothing says what that is")
    if isinstance(serializer, Mapping):  # @extend_schema(request={"application/json": …})
        serializer = serializer.get("application/json", next(iter(serializer.values()), None))
    if serializer is None:
        return None
    is_class = isinstance(serializer, type) and issubclass(serializer, BaseSerializer)
    if not is_class and not isinstance(serializer, BaseSerializer):
        raise UnknownInput("what @extend_schema says of its request is no serializer")
    schema = schema_of_serializer(serializer)
    return _nothing_required(schema) if endpoint.method == "patch" else schema


def _assembled(found: Mapping[tuple[str, str], dict[str, Any]], body: dict[str, Any] | None) -> ViewInput:
    is_member = body is not None and not _is_plain_object(body)
    said = _as_member(body or {}) if is_member else body or {}
    members, required = said.get("properties", {}), said.get("required", ())
    names = [*members, *(name for _, name in found)]
    properties: dict[str, Any] = {}
    places: dict[str, dict[str, str]] = {"path": {}, "query": {}}
    must: list[str] = []
    joined = set()
    for (place, name), parameter in found.items():
        schema = _parameter_schema(parameter, place)
        if schema is None:
            continue
        member = name if names.count(name) == 1 else f"{name}__{place}"
        properties[member] = schema
        places[place][member] = name
        if parameter.get("required"):
            must.append(member)
        if parameter.get("explode") is False:
            joined.add(member)
    whole: dict[str, Any] = {"type": "object", "properties": {**properties, **members}}
    if must or required:
        whole["required"] = [*must, *required]
    whole["additionalProperties"] = False
    if "$defs" in said:
        whole["$defs"] = said["$defs"]
    return ViewInput(
        whole,
        path=places["path"],
        query=places["query"],
        joined=frozenset(joined),
        has_body=body is not None,
        body_is_member=is_member,
    )


def _is_plain_object(schema: Mapping[str, Any]) -> bool:
    """Whether the members of a body can stand beside those of the URL."""
    return schema.get("type") == "object" and schema.keys() <= {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "$defs",
        "title",
        "description",
    }


def _parameter_schema(parameter: Mapping[str, Any], place: str) -> dict[str, Any] | None:
    """The schema of a parameter; None for what a query string cannot hold."""
    schema: dict[str, Any] = with_safe_numbers(converted(parameter.get("schema", {}), drop="readOnly"))
    if "type" not in schema and "enum" not in schema and "$ref" not in schema:
        schema["type"] = "string"
    if place == "query" and not (is_scalar(schema, schema) or is_list_of_scalars(schema, schema)):
        return None
    text = parameter.get("description")
    if text:
        schema.setdefault("description", str(text))
    return schema


def _nothing_required(schema: Any) -> Any:
    """A partial update: what is left out stays as it is, at every depth."""
    if isinstance(schema, list):
        return [_nothing_required(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    found = {}
    for word, each in schema.items():
        if word in {"properties", "$defs"}:
            found[word] = {name: _nothing_required(member) for name, member in each.items()}
        elif word in {"enum", "const", "examples"}:
            found[word] = each
        elif word not in {"required", "default"}:
            found[word] = _nothing_required(each)
    return found


def _texts(value: Any, *, is_joined: bool) -> Iterator[str]:
    """A value as a query string writes it; null stands for what was not given."""
    if isinstance(value, list):
        texts = [text for each in value for text in _texts(each, is_joined=False)]
        if is_joined and texts:
            yield ",".join(texts)
        elif not is_joined:
            yield from texts
    elif value is not None:
        yield _text(value)


def texts_by_member(value: Mapping[str, Any]) -> dict[str, list[str]]:
    """What was sent as the texts that a view sees, by the members of the input."""
    return {
        member: list(_texts(given, is_joined=False)) for member, given in value.items() if given is not None
    }


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    is_short = isinstance(value, Decimal) and abs(value.adjusted()) <= _MAX_PLACES
    return format(value, "f") if is_short else str(value)


def query_string(pairs: list[tuple[str, str]]) -> str:
    """The pairs as they stand in a URL."""
    return urllib.parse.urlencode(pairs)


def _said(error: Exception) -> str:
    text = " ".join(str(error).split())[:200].rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
