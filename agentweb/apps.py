"""The app: on start-up the checks are registered and every installed app's ``agents.py`` is imported."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class AgentwebConfig(AppConfig):
    name = "agentweb"
    label = "agentweb"
    verbose_name = "Agents"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from agentweb import checks  # noqa: F401, PLC0415 - registers; models must be loaded first

        autodiscover_modules("agents")
