"""Every answer of the messenger is held to what ``/openapi.json`` says of it."""

from __future__ import annotations

import functools
import json
import re
from typing import Any

import jsonschema
from django.http import HttpResponse

from agentweb.aim import documents
from agentweb.http.documents import Place

PLACE = Place("https://shop.example", "shop.example")
UNSAID = {405, 500}
"""Of any address: another method, and a crash."""


@functools.cache
def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(documents.openapi(PLACE).content)
    return found


@functools.cache
def _templates() -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(re.sub(r"\\\{[a-z]+\\\}", "[^/]+", re.escape(path)) + "/?"), path)
        for path in document()["paths"]
    ]


def template_of(path: str) -> str | None:
    """The path of the document that an address has; what is written out comes before what varies."""
    found = [template for pattern, template in _templates() if pattern.fullmatch(path)]
    return min(found, key=lambda each: each.count("{"), default=None)


@functools.cache
def _validator(template: str, method: str, status: str) -> jsonschema.Draft202012Validator | None:
    answer = document()["paths"][template][method]["responses"][status]
    content = answer.get("content", {}).get("application/json")
    if content is None:
        return None
    return jsonschema.Draft202012Validator({**content["schema"], "components": document()["components"]})


def check(method: str, path: str, response: HttpResponse) -> None:
    template = template_of(path)
    said = document()["paths"].get(template, {})
    operation = said.get("get" if method == "HEAD" else method.lower())
    if operation is None or response.status_code in UNSAID or response.status_code in {304, 204}:
        return
    status = str(response.status_code)
    assert status in operation["responses"], (
        f"{method} {template} says nothing of {status}: {response.content!r}"
    )
    if response.status_code >= 400 and response.content:
        code = json.loads(response.content)["error"]["code"]
        listed = operation["responses"][status]["description"].split(", ")
        assert code in listed, f"{method} {template} says nothing of {code}"
    validator = _validator(str(template), method.lower() if method != "HEAD" else "get", status)
    if validator is not None and response.content:
        validator.validate(json.loads(response.content))
