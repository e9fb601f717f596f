"""Actions over HTTP, and the manifest that lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.agent_actions import inputs
from agentweb.agent_actions.documents import manifest_for
from agentweb.agent_actions.mount import PROTOCOL
from agentweb.catalog.actions import Action
from agentweb.http import bodies
from agentweb.http.documents import Place
from agentweb.http.headers import answer_document, is_preflight
from agentweb.http.mount import mount_prefix
from agentweb.http.views import AgentView, json_response, method_not_allowed
from agentweb.http.visibility import action_not_found, is_visible, visible_actions
from agentweb.invoke.calls import Call
from agentweb.invoke.door import REPLAYED_HEADER, invoke
from agentweb.wire.errors import AgentError, RequestError


class ManifestView(AgentView):
    """``/.well-known/agent-actions.json``: public; a signed request sees what its person may see."""

    limits_anonymous = False

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        document = manifest_for(self.caller, Place(self.origin, self.site, mount_prefix()))
        return answer_document(self.http_request, document, is_public=self.caller.is_anonymous)


class ActionView(AgentView):
    """The actions of one path by their methods; with none of them, a path where no action is.

    An action that the caller may not see answers in every respect as one that does not exist. So where an action of
    the path has a guard, and where there is no action, the caller is established before the route is judged.
    """

    actions: ClassVar[Mapping[str, Action]] = {}

    @property
    def allowed_methods(self) -> list[str]:
        seen = [method for method, action in self.actions.items() if is_visible(action, self.caller)]
        return [*seen, *(["HEAD"] if "GET" in seen else []), "OPTIONS"] if seen else []

    def check_route(self) -> None:
        is_open = self.actions and all(action.visible is None for action in self.actions.values())
        if is_open:
            super().check_route()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if is_preflight(self.http_request):
            return
        allowed = self.allowed_methods
        if not allowed:
            raise self.action_not_found()
        if self.http_request.method not in allowed:
            raise method_not_allowed(allowed)

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        method = str(self.http_request.method)
        action = self.actions["GET" if method == "HEAD" else method]
        try:
            outcome = invoke(
                Call(
                    action=action,
                    caller=self.caller,
                    read_input=lambda: inputs.read_input(
                        action,
                        path_values=inputs.path_values(action, captured),
                        query_pairs=self.query_pairs,
                        body=self.body(),
                        max_bytes=bodies.limit(),
                    ),
                    protocol=PROTOCOL,
                    method=action.method,
                    path=action.path,
                    site=self.site,
                    request_id=self.request_id,
                    idempotency_key=self.http_request.META.get("HTTP_IDEMPOTENCY_KEY"),
                    request=self.http_request,
                    on_limit=self.allowances.append,
                )
            )
        except AgentError as error:
            raise inputs.locate(error, action) from error
        response = json_response(outcome.body, status=outcome.status)
        if outcome.replayed:
            response[REPLAYED_HEADER] = "true"
        return response

    post = put = patch = delete = get

    def action_not_found(self) -> RequestError:
        """404 with the names, of actions that the caller may see, that look like the one called."""
        return action_not_found(
            self.http_request.path_info.rstrip("/").rpartition("/")[2],
            visible_actions(self.caller),
            missing="No action answers at this address.",
            listed="The manifest lists all actions with their paths.",
        )
