"""docs/how-to/run-the-messenger.md: its snippets make a site whose Celery knows when to do what."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from agentweb import beat, conf
from tests.docs.pages import DOCS, ROOT, blocks

PAGE = "how-to/run-the-messenger.md"
TEXT = (DOCS / PAGE).read_text(encoding="utf-8")

_SETTINGS = """
SECRET_KEY = "x" * 50
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "agentweb"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
ROOT_URLCONF = "agentweb.urls"
"""

_LOOK = """
import django, json, sys
django.setup()
assert "agentweb.tasks" not in sys.modules
from agentweb.aim import wakeups
from teashop import celery_app
celery_app.loader.import_default_modules()
print(json.dumps({
    "tasks": sorted(name for name in celery_app.tasks if name.startswith("agentweb.")),
    "schedule": celery_app.conf.beat_schedule,
    "options": celery_app.conf.broker_transport_options,
    "broker": celery_app.conf.broker_url,
    "hints": sorted(wakeups._process.more),
    "never_retried": not celery_app.conf.task_publish_retry,
}))
"""


def snippet(beginning: str) -> str:
    [found] = [block.text for block in blocks(PAGE, "python") if block.text.lstrip().startswith(beginning)]
    return found


def celery_site(tmp_path: Path) -> dict[str, Any]:
    site = tmp_path / "teashop"
    site.mkdir()
    settings = snippet("from agentweb import beat") + snippet("AGENTWEB =") + _SETTINGS
    (site / "settings.py").write_text(settings, encoding="utf-8")
    (site / "celery.py").write_text(snippet("import os"), encoding="utf-8")
    (site / "__init__.py").write_text(snippet("from .celery"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", _LOOK],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
            "DJANGO_SETTINGS_MODULE": "teashop.settings",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_site_s_celery_finds_the_tasks_and_when_to_run_them(tmp_path: Path) -> None:
    assert celery_site(tmp_path) == {
        "tasks": [
            "agentweb.background",
            "agentweb.content",
            "agentweb.payments",
            "agentweb.retention",
            "agentweb.sweep",
        ],
        "schedule": beat.SCHEDULE,
        "options": beat.TRANSPORT_OPTIONS,
        "broker": "redis://127.0.0.1:6379/0",
        "hints": ["Celery"],
        "never_retried": True,
    }


def test_the_receiver_is_told_by_the_names_that_it_has() -> None:
    names: dict[str, Any] = {}
    exec(snippet("from django.dispatch import receiver"), names)  # noqa: S102 - the page's own words
    signal = names["message_accepted"]
    try:
        answers = signal.send(sender="a@x", recipient="b@x", message_id="m", cursor="c")
        assert (names["count"], None) in answers
    finally:
        signal.disconnect(names["count"])


def test_the_days_that_it_names_are_the_defaults() -> None:
    for setting, days in re.findall(r"`([A-Z]+_DAYS)`, (\d+)", TEXT):
        assert conf.SETTINGS[setting].default == int(days)


def test_a_site_without_celery_loads_nothing_of_it() -> None:
    script = (
        "import django, sys; django.setup(); import agentweb.beat, agentweb.aim.urls, agentweb.upkeep;"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'celery', 'kombu', 'redis'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.strip() == "[]"
