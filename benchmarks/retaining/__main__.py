"""``python -m benchmarks.retaining delete|write``; prints one JSON object at its end."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.retaining.settings"
django.setup()
print(json.dumps(getattr(import_module("benchmarks.retaining.work"), sys.argv[1])()), flush=True)
