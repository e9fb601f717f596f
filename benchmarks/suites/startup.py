"""What the app adds to the start of a site that has Django and DRF: seconds and memory."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from typing import Any, Final

from benchmarks.environment import ROOT
from benchmarks.figures import table

_GOAL_MS: Final = 250
_GOAL_MB: Final = 30
_PROGRAM: Final = """
import json, resource, sys, time
start = time.process_time()
import django
from django.conf import settings
apps = ["django.contrib.auth", "django.contrib.contenttypes", "rest_framework"]
settings.configure(
    SECRET_KEY="x" * 50, DEBUG=True, INSTALLED_APPS=apps + sys.argv[1:], ROOT_URLCONF="benchmarks.startup_urls",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}, USE_TZ=True,
    AGENTWEB={"ORIGIN": "http://127.0.0.1"},
)
django.setup()
import types
urls = types.ModuleType("benchmarks.startup_urls")
from django.urls import include, path
import rest_framework.views
urls.urlpatterns = [path("", include("agentweb.urls"))] if "agentweb" in sys.argv else []
sys.modules["benchmarks.startup_urls"] = urls
from django.urls import get_resolver
get_resolver().url_patterns
from django.core.handlers.wsgi import WSGIHandler
WSGIHandler()
print(json.dumps({
    "ms": (time.process_time() - start) * 1000,
    "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "tiktoken": "tiktoken" in sys.modules, "spectacular": "drf_spectacular" in sys.modules,
    "celery": "celery" in sys.modules,
}))
"""


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure and print; the figures as dicts."""
    rounds: dict[str, list[dict[str, Any]]] = {"Django + DRF": [], "with agentweb": []}
    for _ in range(options.rounds + 1):
        rounds["Django + DRF"].append(_start())
        rounds["with agentweb"].append(_start("agentweb"))
    found = [
        {
            "name": name,
            "ms": statistics.median(each["ms"] for each in measured[1:]),
            "mb": statistics.median(each["mb"] for each in measured[1:]),
        }
        for name, measured in rounds.items()
    ]
    more_ms, more_mb = found[1]["ms"] - found[0]["ms"], found[1]["mb"] - found[0]["mb"]
    rows = [[each["name"], f"{each['ms']:.0f}", f"{each['mb']:.1f}"] for each in found]
    print(table(["start-up", "CPU ms", "MB"], [*rows, ["more", f"{more_ms:.0f}", f"{more_mb:.1f}"]]))
    print(f"goal: at most {_GOAL_MS} ms and {_GOAL_MB} MB more")
    heavy = [name for name in ("tiktoken", "spectacular", "celery") if rounds["with agentweb"][-1][name]]
    print(f"loaded although not needed: {', '.join(heavy) or 'nothing'}")
    return found


def _start(*apps: str) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *apps],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(ran.stdout)
    return found
