from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentweb.wire.strict_json import loads

SPECS = Path(__file__).parent / "specs"


def read(name: str) -> Any:
    return loads((SPECS / name).read_bytes(), max_bytes=10_000_000)


def a_document(
    *operations: tuple[str, str, dict[str, Any]], version: str = "3.1.0", **members: Any
) -> dict[str, Any]:
    """An OpenAPI document of (method, path, operation)."""
    paths: dict[str, Any] = {}
    for method, path, operation in operations:
        paths.setdefault(path, {})[method] = {"responses": {"200": {"description": "Done."}}, **operation}
    return {
        "openapi": version,
        "info": {"title": "Made up", "version": "1"},
        "servers": [{"url": "https://api.example"}],
        "paths": paths,
        **members,
    }


def a_body(schema: Any, media_type: str = "application/json", *, required: bool = True) -> dict[str, Any]:
    return {"requestBody": {"required": required, "content": {media_type: {"schema": schema}}}}


def a_parameter(name: str, place: str, schema: Any = None, **members: Any) -> dict[str, Any]:
    required = {"required": True} if place == "path" else {}
    return {"name": name, "in": place, "schema": schema or {"type": "string"}, **required, **members}


@pytest.fixture
def kennel() -> Callable[[], tuple[Any, Any]]:
    return lambda: (read("kennel.json"), read("kennel.overlay.json"))
