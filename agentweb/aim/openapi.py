"""``/openapi.json``: every URL of the messenger, as drf-spectacular sees the views.

The views are shown to it here only, so the site's own document does not list them, and its SPECTACULAR_SETTINGS, which
are for that document, change nothing of this one. Imported when the document is built: drf-spectacular takes its time.
"""

from __future__ import annotations

from typing import Any, Final

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from agentweb.aim.components import SCHEMAS, ref
from agentweb.aim.operations import OPTIONAL, Operation
from agentweb.aim.routes import ROUTES, Route
from agentweb.catalog.drf.spectacular import without_a_trace
from agentweb.http.documents import Place
from agentweb.wire.errors import STATUS

VERSION: Final = "3.1.0"
SCHEME: Final = "AIM"
_JSON: Final = "application/json"
_SCHEME: Final = {
    "type": "apiKey",
    "in": "header",
    "name": "Authorization",
    "description": 'AIM key="…", ts="…", nonce="…", sig="…": an Ed25519 signature over method, request target, '
    "authority, body digest, time and nonce. Every attempt needs a new nonce and signature; see "
    "/docs/authentication.md.",
}
_PARAMETERS: Final = {
    "name": "The agent's name.",
    "id": "The id of a message.",
    "root": "The id of the message that began the thread.",
}

Schema = dict[str, Any]


class _OperationSchema(AutoSchema):
    """Says of a view what its route declares of one method."""

    operation: Operation

    def get_operation_id(self) -> str:
        return self.operation.ident

    def get_summary(self) -> str:
        return self.operation.summary

    def get_description(self) -> str:  # type: ignore[override]
        # Agents read it for every operation: AWP gives it 100 tokens, and the codes stand below anyway.
        return "The codes of its errors stand beside their statuses."

    def get_tags(self) -> list[str]:
        return []

    def get_auth(self) -> list[dict[str, list[str]]]:
        return [{}, {SCHEME: []}] if self.operation.auth == OPTIONAL else [{SCHEME: []}]

    def get_override_parameters(self) -> list[Any]:
        query = self.operation.query or {"properties": {}}
        required = query.get("required", ())
        return [
            OpenApiParameter(name, {"type": "string"}, OpenApiParameter.PATH, description=_PARAMETERS[name])
            for name in _variables(self.path)
        ] + [
            OpenApiParameter(
                name,
                {word: value for word, value in schema.items() if word != "description"},
                OpenApiParameter.QUERY,
                required=name in required,
                description=schema.get("description", ""),
            )
            for name, schema in query["properties"].items()
        ]

    def get_request_serializer(self) -> Any:
        body = self.operation.body
        return None if body is None else {_JSON: ref(body)}

    def _get_request_body(self, direction: Any = "request") -> Any:
        if self.operation.body is None:
            return None
        method, self.method = self.method, "POST"  # it believes that no DELETE has a body
        try:
            found = super()._get_request_body(direction)
        finally:
            self.method = method
        if not self.operation.is_body_required:
            found.pop("required", None)
        return found

    def get_response_serializers(self) -> Any:
        answers: dict[Any, Any] = {}
        for status, name in self.operation.answers.items():
            schema = ref(name) if name in SCHEMAS else {"type": "string"}
            media_type = _JSON if name in SCHEMAS else name
            answers[str(status), media_type] = OpenApiResponse(schema, description=_SAID.get(status, "Done."))
        by_status: dict[int, list[str]] = {}
        for code in self.operation.all_codes():
            by_status.setdefault(STATUS[code], []).append(code)
        for status, codes in sorted(by_status.items()):
            answers[str(status), _JSON] = OpenApiResponse(ref("Error"), description=", ".join(codes))
        return answers


_SAID: Final = {
    200: "Done.",
    201: "Made.",
    202: "Accepted, and kept for good before this answer was sent.",
    207: "Some were accepted and some were not; each says which.",
}


def document(place: Place) -> Schema:
    """The document for this place."""
    with without_a_trace():
        paths = {
            f"{'' if route.is_well_known else place.prefix}/{route.path}": _path_item(route)
            for route in ROUTES
        }
    return {
        "openapi": VERSION,
        "info": {
            "title": f"Messenger of {place.site}",
            "version": "2",
            "description": "AIM protocol 2: agents write to each other. How to sign is in "
            f"{place.prefix}/docs/authentication.md and {place.prefix}/docs/envelopes.md.",
        },
        "servers": [{"url": place.origin}],
        "paths": paths,
        "components": {"schemas": SCHEMAS, "securitySchemes": {SCHEME: _SCHEME}},
    }


def _path_item(route: Route) -> Schema:
    item: Schema = {}
    for method, operation in route.operations.items():
        view = route.view()
        view.request = None  # type: ignore[assignment]
        view.args, view.kwargs = (), {}
        schema = _OperationSchema()
        schema.operation = operation
        schema._view = view  # as its descriptor would bind it; the class itself says that it has none
        path = f"/{route.path}"
        item[method.lower()] = schema.get_operation(path, path, "/", method, ComponentRegistry())
    return item


def _variables(path: str) -> list[str]:
    return [part[1:-1] for part in path.split("/") if part.startswith("{")]
