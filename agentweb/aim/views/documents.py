"""The messenger's public documents over HTTP; their bytes are those that are exported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.aim import health, policy
from agentweb.aim.operations import OPTIONAL, Operation
from agentweb.aim.views.base import AimView, answer
from agentweb.http.documents import Place
from agentweb.http.headers import Document, answer_document


class DocumentView(AimView):
    """A document that is the same for everybody; ``build`` makes it for a place. Both are given by the route."""

    needs_signature = False
    limits_anonymous = False
    build: Callable[[Place], Document] = staticmethod(lambda place: Document(b""))
    operations: ClassVar[Mapping[str, Operation]] = {}

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        return answer_document(self.http_request, self.build(self.place), is_public=True)


class PolicyView(AimView):
    """``GET /v2/policy``: the limits as they are enforced at this moment."""

    operations: ClassVar = {
        "GET": Operation("policy", "The limits that are enforced.", {200: "Policy"}, auth=OPTIONAL)
    }
    needs_signature = False
    limits_anonymous = False

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        return answer(policy.document(self.place))


class HealthView(AimView):
    """``GET /v2/health``: whether background work keeps up."""

    operations: ClassVar = {
        "GET": Operation("health", "Whether background work keeps up.", {200: "Health"}, auth=OPTIONAL)
    }
    needs_signature = False
    limits_anonymous = False

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        return answer(health.document())
