"""An OpenAPI 3.1 document of a manifest: what every tool for OpenAPI reads, and in ``x-agent-…`` what only agents need.

The import of it is the manifest again. Where OpenAPI's own words do not say all that an entry says (a schema that is
more than its parameters), the entry's member stands beside them as it is, ``x-agent-input``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from agentweb.agent_actions.openapi.importing import manifest_from
from agentweb.agent_actions.openapi.inputs import QUERY_METHODS
from agentweb.agent_actions.openapi.names import action_name

VERSION: Final = "3.1.0"
SCHEME: Final = "agent-grant"

_ERROR: Final = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "field": {"type": "string"},
                "retry_after": {"type": "integer"},
                "problems": {"type": "array", "items": {"type": "object"}},
                "request_id": {"type": "string"},
            },
            "required": ["code", "message"],
        }
    },
    "required": ["error"],
}
_SCHEME: Final = {
    "type": "apiKey",
    "in": "header",
    "name": "Agent-Grant",
    "description": "A grant for this site, on a request that its holder signs (RFC 9421); see the manifest at "
    "/.well-known/agent-actions.json.",
}
_VARIABLE: Final = re.compile(r"\{([^{}/]+)\}")
_COMPONENT: Final = re.compile(r"[^A-Za-z0-9._-]")
_ALWAYS: Final = ("effect", "scope", "cost", "example", "consequential", "idempotent", "confirm")
"""Members that OpenAPI has no words for."""
_TRIED: Final = ("name", "title", "description", "tags", "input", "request", "output")
"""Members that it has words for, which may not say it all."""

Entry = Mapping[str, Any]


def openapi_from(manifest: Mapping[str, Any], *, origin: str, title: str | None = None) -> dict[str, Any]:
    """The document of a manifest, whose site is at ``origin``."""
    schemas: dict[str, Any] = {"Error": _ERROR}
    paths: dict[str, dict[str, Any]] = {}
    for entry in manifest.get("actions", ()):
        operation = _exact(entry, schemas, origin)
        paths.setdefault(entry["path"], {})[entry["method"].lower()] = operation
    document: dict[str, Any] = {
        "openapi": VERSION,
        "info": {
            "title": title or f"Actions of {manifest['site']}",
            "version": str(manifest["version"]).rpartition("/")[2],
            "description": "What agents may do here. Effects, scopes and costs are in x-agent-effect, x-agent-scope "
            "and x-agent-cost.",
        },
        "servers": [{"url": origin}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {SCHEME: _SCHEME}},
    }
    if manifest.get("flows"):
        document["x-agent-flows"] = list(manifest["flows"])
    return document


def _exact(entry: Entry, schemas: dict[str, Any], origin: str) -> dict[str, Any]:
    """The operation of an entry, with what an import of it alone would not bring back."""
    operation = _operation(entry, schemas)
    document = {
        "openapi": VERSION,
        "servers": [{"url": origin}],
        "paths": {entry["path"]: {entry["method"].lower(): operation}},
        "components": {"schemas": schemas},
    }
    found = manifest_from(document).manifest
    back = found["actions"][0] if found is not None and found["actions"] else {}
    for member in _TRIED:
        if back.get(member) != entry.get(member) or (member in entry) != (member in back):
            operation[f"x-agent-{member}"] = entry.get(member)
    if "x-agent-input" in operation and entry.get("request"):
        operation["x-agent-request"] = entry["request"]
    return operation


def _operation(entry: Entry, schemas: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": entry["name"]}
    if entry.get("title"):
        operation["summary"] = entry["title"]
    operation["description"] = entry.get("description", "")
    if entry.get("tags"):
        operation["tags"] = list(entry["tags"])
    parameters, body, is_required = _travelling(entry)
    named = _Placed(entry["name"], schemas)
    root = entry.get("input")
    defs = root.get("$defs", {}) if isinstance(root, Mapping) else {}
    if parameters:
        operation["parameters"] = [
            {**parameter, "schema": named.placed(parameter["schema"], defs)} for parameter in parameters
        ]
    if body is not None:
        operation["requestBody"] = {
            **({"required": True} if is_required else {}),
            "content": {"application/json": {"schema": named.placed(body, defs)}},
        }
    answer: dict[str, Any] = {"description": "Done."}
    if "output" in entry:
        output = entry["output"]
        inner = output.get("$defs", {}) if isinstance(output, Mapping) else {}
        answer["content"] = {
            "application/json": {"schema": _Placed(f"{entry['name']}.output", schemas).placed(output, inner)}
        }
    error = {"schema": {"$ref": "#/components/schemas/Error"}}
    operation["responses"] = {
        "200": answer,
        "default": {"description": "An error.", "content": {"application/json": error}},
    }
    if "scope" in entry or entry["effect"] != "read":
        operation["security"] = [{SCHEME: []}]
    operation |= {f"x-agent-{word}": entry[word] for word in _ALWAYS if word in entry}
    if action_name(entry["name"]) != entry["name"]:
        operation["x-agent-name"] = entry["name"]
    return operation


def _travelling(entry: Entry) -> tuple[list[dict[str, Any]], Any, bool]:
    """(parameters, schema of the body or None, whether a body must be sent) of an entry's input."""
    schema, method = entry.get("input", True), entry["method"]
    in_path = _VARIABLE.findall(entry["path"])
    request = entry.get("request", {})
    if not isinstance(schema, Mapping):
        return (
            [_parameter(name, "path", True, True) for name in in_path],
            None if method in QUERY_METHODS else schema,
            True,
        )
    given = schema.get("properties")
    properties: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {}
    required = schema.get("required", [])
    parameters = [_parameter(name, "path", properties.pop(name, True), True) for name in in_path]
    queried = request.get("query", {})
    if method in QUERY_METHODS:
        queried = {name: queried.get(name, name) for name in properties}
    parameters += [
        _parameter(wire, "query", properties.pop(name, True), name in required)
        for name, wire in queried.items()
    ]
    if method in QUERY_METHODS:
        return parameters, None, False
    if request.get("body") in properties:
        member = request["body"]
        return parameters, properties[member], member in required
    taken = {*in_path, *queried}
    left = [name for name in required if name not in taken]
    body = {word: value for word, value in schema.items() if word not in {"properties", "required", "$defs"}}
    if not taken:
        body = {word: value for word, value in schema.items() if word != "$defs"}
    else:
        body |= {"properties": properties, **({"required": left} if left else {})}
    is_nothing = not properties and schema.get("additionalProperties") is False
    return parameters, None if is_nothing else body, bool(left)


def _parameter(name: str, place: str, schema: Any, is_required: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "in": place}
    if is_required:
        found["required"] = True
    if isinstance(schema, Mapping) and isinstance(schema.get("description"), str):
        # Where every reader looks for it.
        found["description"] = schema["description"]
        schema = {word: value for word, value in schema.items() if word != "description"}
    return {**found, "schema": schema}


class _Placed:
    """Moves the definitions of a schema to the document's components, where its references then lead."""

    def __init__(self, owner: str, schemas: dict[str, Any]) -> None:
        self._owner = owner
        self._schemas = schemas
        self._names: dict[str, str] = {}

    def placed(self, schema: Any, defs: Mapping[str, Any]) -> Any:
        if isinstance(schema, list):
            return [self.placed(each, defs) for each in schema]
        if not isinstance(schema, Mapping):
            return schema
        found = {word: self.placed(each, defs) for word, each in schema.items() if word != "$defs"}
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/$defs/"):
            found["$ref"] = f"#/components/schemas/{self._named(reference.removeprefix('#/$defs/'), defs)}"
        return found

    def _named(self, name: str, defs: Mapping[str, Any]) -> str:
        if name in self._names:
            return self._names[name]
        placed = _COMPONENT.sub("_", f"{self._owner}.{name}")
        while placed in self._schemas:
            placed += "_"
        self._names[name] = placed
        self._schemas[placed] = True
        target = defs.get(name.replace("~1", "/").replace("~0", "~"), True)
        self._schemas[placed] = self.placed(target, defs)
        return placed
