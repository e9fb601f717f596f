"""The app of the contestants."""

from __future__ import annotations

from django.apps import AppConfig


class BenchmarksConfig(AppConfig):
    name = "benchmarks.site"
    label = "benchmarks"
