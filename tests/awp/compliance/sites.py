"""A small site that keeps all of AWP, without agentweb; a test plants one fault in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from django.http import HttpRequest, HttpResponse
from django.urls import re_path

WELL_KNOWN = "/.well-known/agentic-web-protocol.json"
FULL = "/awp/manifest.json"
SUMMARY = "/awp/content/summary.md"
STRUCTURE = "/awp/content/structure.json"
INSTRUCTIONS = "/awp/instructions.md"
FUNCTIONS = "/awp/api/tools/functions.json"
OPENAPI = "/openapi.json"
LLMS = "/llms.txt"
TEAS = "/awp/content/teas.md"
POTS = "/awp/content/pots.md"
NOW = 1_750_000_000.0
"""2025-06-15T15:06:40Z"""

Change = Callable[[HttpRequest, HttpResponse], HttpResponse | None]


def manifest() -> dict[str, Any]:
    return {
        "version": "1.0",
        "name": "Corner Shop",
        "description": "Teas and pots, sent within two days.",
        "capabilities": ["content", "api", "search"],
        "endpoints": {"manifest": FULL, "content": STRUCTURE, "api": FUNCTIONS},
        "authentication": {"required": False, "methods": ["bearer"]},
        "rate_limits": {"requests_per_minute": 120},
        "llms_txt": LLMS,
        "updated_at": "2025-06-10T12:00:00Z",
    }


def pages() -> list[dict[str, Any]]:
    return [
        {"path": "/teas", "url": TEAS, "title": "Teas", "parts": 2, "tokens": 12},
        {"path": "/pots", "url": POTS, "title": "Pots", "parts": 1, "tokens": 6},
    ]


@dataclass
class SoundSite:
    """``bodies``: path -> text, or the texts of its parts. ``change`` sees every answer, and may put another there."""

    bodies: dict[str, Any] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    change: Change = lambda request, response: None
    asked: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.put(WELL_KNOWN, manifest())
        self.put(FULL, {**manifest(), "content": pages()})
        self.put(
            STRUCTURE,
            {
                "version": "1.0",
                "navigation": [],
                "sections": [{"id": "all", "title": "All", "pages": pages()}],
            },
        )
        self.put(
            FUNCTIONS,
            {"version": "1.0", "functions": [{"name": "search_teas", "description": "Search the teas."}]},
        )
        self.put(OPENAPI, {"paths": {"/teas": {"get": {"description": "All teas."}}}})
        self.put(SUMMARY, "# Corner Shop\n\nTeas and pots.\n")
        self.put(INSTRUCTIONS, "Search first, then buy.\n")
        self.put(LLMS, "# Corner Shop\n\n> Teas and pots.\n\n## Pages\n\n- [Teas](/awp/content/teas.md)\n")
        self.put(TEAS, ["# Teas\n\nAssam.\n", "Darjeeling.\n"])
        self.put(POTS, ["# Pots\n\nA pot.\n"])

    def put(self, path: str, body: Any) -> None:
        """Serve this at the path: a dict as JSON, a text, or the texts of parts."""
        self.bodies[path] = json.dumps(body, indent=2) if isinstance(body, dict) else body
        kind = "application/json" if isinstance(body, dict) or path.endswith(".json") else "text/markdown"
        self.types.setdefault(path, f"{kind}; charset=utf-8")

    def edit(self, path: str, **members: Any) -> None:
        """Change members of a JSON document; None takes one out."""
        value = {**json.loads(self.bodies[path]), **members}
        self.put(path, {name: each for name, each in value.items() if each is not None})

    def answer(self, request: HttpRequest) -> HttpResponse:
        method = str(request.method)
        self.asked.append((method, request.get_full_path()))
        response = self._answer(request, method)
        response["X-AWP-Version"] = "1.0"
        response["Access-Control-Allow-Origin"] = "*"
        return self.change(request, response) or response

    def _answer(self, request: HttpRequest, method: str) -> HttpResponse:
        body = self.bodies.get(request.path)
        if request.path == "/awp/search":
            body = '{"results": []}' if "q" in request.GET else None
        if body is None:
            return HttpResponse('{"error": {}}', status=404, content_type="application/json")
        if method == "OPTIONS":
            return HttpResponse(status=204)
        if method not in {"GET", "HEAD"}:
            return HttpResponse(status=405, headers={"Allow": "GET, HEAD, OPTIONS"})
        link = ""
        if isinstance(body, list):
            number = int(parse_qs(request.META["QUERY_STRING"]).get("part", ["1"])[0])
            link = f'<?part={number + 1}>; rel="next"' if number < len(body) else ""
            body = body[number - 1]
        content = body if isinstance(body, bytes) else body.encode()
        tag = f'"{hashlib.sha256(content).hexdigest()}"'
        response = HttpResponse(content, content_type=self.types.get(request.path, "application/json"))
        if request.META.get("HTTP_IF_NONE_MATCH") == tag:
            response = HttpResponse(status=304)
        response["ETag"] = tag
        response["Cache-Control"] = "public, max-age=3600"
        if link:
            response["Link"] = link
        return response


current: SoundSite = SoundSite()


def view(request: HttpRequest) -> HttpResponse:
    return current.answer(request)


urlpatterns = [re_path("", view)]
