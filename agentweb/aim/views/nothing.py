"""What is under the messenger's name and is nothing."""

from __future__ import annotations

from agentweb.aim.views.base import AimView
from agentweb.http.views import NothingHere


class NothingView(AimView, NothingHere):
    """404, as the messenger says it."""

    needs_signature = False
