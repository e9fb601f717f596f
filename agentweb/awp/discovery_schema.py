"""The specification's JSON Schema of the discovery manifest, as it is."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from agentweb.wire.schema import CompiledSchema, compile_schema


@cache
def document() -> dict[str, Any]:
    """The schema; nobody changes the one object."""
    text = (files("agentweb.awp") / "data" / "discovery.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@cache
def compiled() -> CompiledSchema:
    return compile_schema(document())
