"""A report as text, JSON, SARIF or JUnit XML: each a pure function of the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from agentweb.awp.compliance.formats import json_format, junit, sarif
from agentweb.awp.compliance.report import Report

DOCUMENTS: Final[dict[str, Callable[[Report], str]]] = {
    "json": json_format.render,
    "sarif": sarif.render,
    "junit": junit.render,
}
"""The formats that are one document. Text is written for a person, in ``formats.text``."""
