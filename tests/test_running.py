"""Which command a process runs, by its arguments."""

from __future__ import annotations

import pytest

from agentweb import running


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("manage.py check --deploy", "check"),
        ("./manage.py --settings shop.settings check", "check"),
        ("manage.py --settings=shop.settings -v2 check", "check"),
        ("/venv/bin/django-admin migrate", "migrate"),
        ("/venv/lib/django/__main__.py runserver check", "runserver"),
        ("manage.py runserver check", "runserver"),
        ("manage.py --pythonpath check shell", "shell"),
        ("manage.py", "help"),
        ("manage.py --version", "version"),
        ("manage.py -h", "help"),
        ("/venv/bin/gunicorn check", None),
        ("serve.py check", None),
        ("/site/__main__.py check", None),
        ("-c", None),
    ],
)
def test_the_command_is_known_by_the_arguments(arguments: str, found: str | None) -> None:
    assert running.command(arguments.split()) == found


def test_nothing_that_serves_or_calls_is_let_through() -> None:
    through = running.LOOKING | running.MIGRATING
    assert not through & {"runserver", "shell", "test", "testserver", "demo", "issue_grant", "clear_expired"}
