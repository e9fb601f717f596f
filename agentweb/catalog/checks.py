"""The catalog's faults as system checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core import checks

from agentweb.catalog.faults import Fault
from agentweb.catalog.registry import registry


def check_declarations(
    app_configs: Sequence[AppConfig] | None = None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """Every fault of every declared action and flow: errors are not published, warnings are."""
    return [as_message(found) for found in registry.faults()]


def as_message(found: Fault) -> checks.CheckMessage:
    """A fault as ``manage.py check`` shows it."""
    kind = checks.Error if found.is_error else checks.Warning
    return kind(found.message, hint=found.hint, obj=found.obj, id=found.id)
