"""What the commands share: a database without its tables is told as what it is.

The name begins with an underscore, so that Django does not take the module for a command.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor

from agentweb.access.rows import database
from agentweb.management.commands._texts import TextCommand


class MigratedCommand(TextCommand):
    """A command that needs the tables. Without them it ends with CommandError and the way to make them."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except DatabaseError as error:
            if _is_migrated():
                raise
            raise CommandError(
                "The database has not the tables of this version: run `manage.py migrate` first."
            ) from error


def _is_migrated() -> bool:
    """Are all migrations applied? Also True when the database cannot say: then its own error is the one to show."""
    try:
        for alias in {database(), DEFAULT_DB_ALIAS}:
            executor = MigrationExecutor(connections[alias])
            if executor.migration_plan(executor.loader.graph.leaf_nodes()):
                return False
    except DatabaseError:
        return True
    return True
