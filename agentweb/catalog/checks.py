"""The catalog's faults as system checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.apps import AppConfig, apps
from django.core import checks
from django.utils.module_loading import module_has_submodule

from agentweb.catalog.faults import Fault
from agentweb.catalog.registry import registry

OWN_NAME: Final = "agentweb"


def check_declarations(
    app_configs: Sequence[AppConfig] | None = None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """Every fault of every declared action and flow: errors are not published, warnings are."""
    return [as_message(found) for found in registry.faults()]


def nothing_declared() -> checks.CheckMessage:
    """W014, for a site that has actions for agents: usually a file has another name, or an app is not installed."""
    own = [
        config
        for config in apps.get_app_configs()
        if config.name != OWN_NAME and not config.name.startswith("django.")
    ]
    read = [config.name for config in own if module_has_submodule(config.module, "agents")]
    looked = f"agents.py was looked for in {', '.join(config.name for config in own) or 'no app'}"
    return checks.Warning(
        f"No action is registered; {looked}" + (f" and found in {', '.join(read)}." if read else "."),
        hint="Name the file agents.py, beside models.py of an app that INSTALLED_APPS lists, and put @action before "
        "each function in it that agents may call.",
        id="agentweb.W014",
    )


def as_message(found: Fault) -> checks.CheckMessage:
    """A fault as ``manage.py check`` shows it."""
    kind = checks.Error if found.is_error else checks.Warning
    return kind(found.message, hint=found.hint, obj=found.obj, id=found.id)
