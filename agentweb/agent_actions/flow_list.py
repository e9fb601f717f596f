"""The flows that the site runs, at the address that the manifest names for them."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb import conf
from agentweb.agent_actions.manifest import flow_entry
from agentweb.agent_actions.mount import FLOWS
from agentweb.catalog.registry import registry
from agentweb.http.headers import is_preflight
from agentweb.http.mount import mount_prefix
from agentweb.http.views import AgentView, json_response
from agentweb.http.visibility import visible_actions
from agentweb.wire.errors import Code, RequestError
from agentweb.wire.json_types import Json
from agentweb.wire.json_writing import dumps


class FlowsView(AgentView):
    """``GET``: the flows of the manifest that the caller may see, each with the ``url`` at which POST runs it.

    With FLOWS_ON_SERVER off nothing is here.
    """

    def check_route(self) -> None:
        if not conf.get("FLOWS_ON_SERVER") and not is_preflight(self.http_request):
            raise RequestError(Code.NOT_FOUND, "This site runs no flows; run their steps one by one.")
        super().check_route()

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        seen = {action.name for action in visible_actions(self.caller)}
        base = f"{self.origin}{mount_prefix()}/{FLOWS}"
        items: list[Json] = [
            {**flow_entry(flow), "url": f"{base}/{flow.name}"}
            for flow in registry.flows()
            if all(step.action in seen for step in flow.steps)
        ]
        return json_response(dumps({"items": items, "next_cursor": None}))
