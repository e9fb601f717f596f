"""The app: on start-up the checks are registered and every installed app's ``agents.py`` is imported."""

from __future__ import annotations

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import autodiscover_modules

from agentweb import conf, running
from agentweb.catalog.registry import registry


class AgentwebConfig(AppConfig):
    name = "agentweb"
    label = "agentweb"
    verbose_name = "Agents"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Raises ImproperlyConfigured for a dangerous setting or declaration: what would run is not what was meant.

        System checks alone would not do: servers that import the WSGI application do not run them. A command that
        only looks at declarations starts all the same, and shows them: ``check`` ends with 1 then.
        """
        from agentweb import checks  # noqa: F401, PLC0415 - registers; models must be loaded first
        from agentweb.people import logins  # noqa: PLC0415 - the same

        user_logged_out.connect(logins.end_sessions, dispatch_uid="agentweb.people.logins")
        user_logged_in.connect(logins.end_sessions_before, dispatch_uid="agentweb.people.logins")

        command = running.command()
        if command not in running.LOOKING and (settings := conf.dangers()):
            lines = (f"({ident}) {message}\n    HINT: {hint}" for ident, message, hint in settings)
            raise ImproperlyConfigured("agentweb cannot run with these settings:\n\n" + "\n".join(lines))
        autodiscover_modules("agents")
        if command in running.LOOKING | running.MIGRATING:
            return
        errors = [found for found in registry.faults() if found.is_error]
        if any(found.dangerous for found in errors):
            # The milder ones too: who corrects the declarations corrects them all.
            errors.sort(key=lambda found: not found.dangerous)
            lines = (f"{found.obj}: ({found.id}) {found.message}\n    HINT: {found.hint}" for found in errors)
            raise ImproperlyConfigured(
                "What agents may do here is declared wrongly; `manage.py check` lists it:\n\n"
                + "\n".join(lines)
            )
