"""The report as one JSON object."""

from __future__ import annotations

import json

from agentweb.awp.compliance.report import Report


def render(report: Report) -> str:
    return json.dumps(report.as_dict(), indent=2)
