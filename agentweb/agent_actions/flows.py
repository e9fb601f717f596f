"""Flows that the site runs itself, where its owner switched it on (AGENT_ACTIONS section 9).

Every step goes through the one door as if it were called alone: authorised, limited, checked, recorded and charged as
its own call, by the same engine that clients use. Nothing of a run is kept here. Who goes on with one brings back what
was completed; that gives nobody more than calling the actions one by one would.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any, Final

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb import conf
from agentweb.access import limits, signatures
from agentweb.access.callers import SESSION
from agentweb.agent_actions.documents import manifest_for
from agentweb.catalog.actions import Action
from agentweb.catalog.effects import Effect
from agentweb.catalog.flows import Flow
from agentweb.catalog.registry import registry
from agentweb.client.flows.engine import FlowStep, Position, run_steps, where_it_stopped
from agentweb.http import bodies
from agentweb.http.documents import Place
from agentweb.http.mount import mount_prefix
from agentweb.http.request_members import unknown_members
from agentweb.http.views import AgentView, json_response
from agentweb.http.visibility import visible_actions
from agentweb.invoke.calls import Call
from agentweb.invoke.door import invoke
from agentweb.invoke.idempotency import check_key
from agentweb.wire.canonical import digest
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import STATUS, ClientError, Code, ConflictError, InputError, RequestError
from agentweb.wire.json_writing import dumps
from agentweb.wire.safe_numbers import nearest_doubles
from agentweb.wire.schema import compile_schema
from agentweb.wire.strict_json import Json, loads

PROTOCOL: Final = "agent-actions"
MAX_ANSWER: Final = 16_777_216

_MEMBERS: Final = ("input", "resume", "completed")
_RUN: Final = re.compile(r"[!-~]{16,200}")


@dataclass(frozen=True, slots=True)
class Sent:
    """The body: the flow's input; of a run that goes on, its name, the manifest it followed and the outputs so far."""

    input: Json = field(default_factory=dict)
    run: str | None = None
    manifest: str | None = None
    outputs: list[Json] = field(default_factory=list)


class FlowView(AgentView):
    """``POST {"input", "resume"?, "completed"?}``: run the flow of this name, up to its end or the first refusal.

    With FLOWS_ON_SERVER off nothing is here.
    """

    def check_route(self) -> None:
        if not conf.get("FLOWS_ON_SERVER"):
            raise RequestError(Code.NOT_FOUND, "Nothing is here.")
        super().check_route()

    def post(self, request: Request, *, flow_name: str, **captured: Any) -> HttpResponse:
        flow, actions = self._find(flow_name)
        sent = _read(loads(self.body(), max_bytes=bodies.limit()), flow)
        steps = [FlowStep(step.action, step.with_) for step in flow.steps]
        manifest = _digest_of(
            manifest_for(self.caller, Place(self.origin, self.site, mount_prefix())).content
        )
        position = Position(self._run(sent, actions), manifest)
        outputs = list(sent.outputs)
        if sent.manifest is not None and sent.manifest != manifest:
            raise ConflictError(
                Code.MANIFEST_CHANGED,
                "The site changed its manifest since this run began, so the run cannot go on. Look at what was "
                "completed, then run the flow anew.",
                **where_it_stopped(flow.name, steps, outputs, position),
            )
        compile_schema(flow.input_schema).check(sent.input)
        try:
            value = run_steps(
                flow.name,
                steps,
                sent.input,
                outputs,
                position=position,
                perform=lambda number, name, given: self._perform(
                    position, number, actions[name], given, is_first=number == len(sent.outputs)
                ),
                output=flow.output,
            )
        except ClientError as error:
            # The engine is the clients' own, where an error has no status. Here it is about what was sent, or what the
            # steps made of it.
            error.status = STATUS[error.code]
            raise
        answer: dict[str, Any] = {
            "run": position.run,
            "value": value,
            "steps": [
                {"step": number, "action": steps[number].action, "output": output}
                for number, output in enumerate(outputs)
            ],
        }
        return json_response(dumps(answer))

    def _find(self, name: str) -> tuple[Flow, dict[str, Action]]:
        """The flow, and the actions of its steps; a flow with an action that the caller may not see is not there."""
        seen = {action.name: action for action in visible_actions(self.caller)}
        for flow in registry.flows():
            if flow.name == name and all(step.action in seen for step in flow.steps):
                return flow, {step.action: seen[step.action] for step in flow.steps}
        raise RequestError(
            Code.NOT_FOUND,
            "No flow of this name is offered here. The manifest lists the flows with their steps.",
        )

    def _run(self, sent: Sent, actions: dict[str, Action]) -> str:
        """The name of the run, of which the keys of its steps are made."""
        given = self.http_request.META.get("HTTP_IDEMPOTENCY_KEY")
        if given is not None:
            check_key(given)
            # Steps have keys of their own, and a key has a longest length.
            given = given if _RUN.fullmatch(given) else hashlib.sha256(given.encode()).hexdigest()
        if sent.run is not None:
            return sent.run
        if given is None and any(action.effect is Effect.SPEND for action in actions.values()):
            raise ConflictError(
                Code.IDEMPOTENCY_KEY_REQUIRED,
                "Send an Idempotency-Key with every flow that spends: one key for each run, kept for its retries.",
            )
        return given or random_id("fr_")

    def _perform(
        self, position: Position, number: int, action: Action, given: Json, *, is_first: bool
    ) -> Json:
        if not is_first:
            self._come_again()
        outcome = invoke(
            Call(
                action=action,
                caller=self.caller,
                read_input=lambda: given,
                protocol=PROTOCOL,
                method=action.method,
                path=action.path,
                site=self.site,
                request_id=self.request_id,
                idempotency_key=f"{position.run}:{number}",
                request=self.http_request,
                on_limit=self.allowances.append,
            )
        )
        return loads(outcome.body, max_bytes=MAX_ANSWER, allow_nul=True)

    def _come_again(self) -> None:
        """What the caller would meet with a request for this step alone. The flow's own request was let in for one:
        it is no way around the limit for callers, nor past the end of a grant or session."""
        caller = self.caller
        if caller.kind == SESSION:
            allowance = self.identify().allowance
        else:
            signatures.check_again(caller)
            allowance = (
                limits.take(caller.rate_key, conf.get("CALLER_RATE"), limits.CALLER)
                if caller.rate_key
                else limits.admit_anonymous(caller.address)
            )
        if allowance is not None:
            self.allowances.append(allowance)


def _digest_of(document: bytes) -> str:
    return digest(nearest_doubles(loads(document, max_bytes=MAX_ANSWER)))


def _read(sent: Json, flow: Flow) -> Sent:
    """The members of the body; InputError with everything that is wrong."""
    if not isinstance(sent, dict):
        raise InputError([_problem("", "type", 'The body is {"input": {…}}.')])
    problems = unknown_members(sent, _MEMBERS, wrapper="input")
    resume, completed = sent.get("resume"), sent.get("completed", [])
    if resume is not None and not _is_resume(resume):
        problems.append(
            _problem(
                "resume", "format", 'resume is what an error of this flow had: {"run", "from", "manifest"}.'
            )
        )
    outputs = _outputs_of(completed, flow)
    if outputs is None:
        problems.append(
            _problem(
                "completed", "format", "completed is what an error of this flow had: its steps in order."
            )
        )
    elif _is_resume(resume) and _from(resume) != len(outputs):
        problems.append(
            _problem("completed", "const", "completed has the outputs of the steps before resume.from.")
        )
    elif resume is None and outputs:
        problems.append(_problem("resume", "required", "completed comes with resume."))
    if problems:
        raise InputError(problems)
    named = resume if isinstance(resume, dict) else {}
    return Sent(
        input=sent.get("input", {}),
        run=named.get("run"),  # type: ignore[arg-type]
        manifest=named.get("manifest"),  # type: ignore[arg-type]
        outputs=outputs or [],
    )


def _from(resume: Json) -> Json:
    return resume.get("from") if isinstance(resume, dict) else None


def _is_resume(resume: Json) -> bool:
    if not isinstance(resume, dict) or resume.keys() != {"run", "from", "manifest"}:
        return False
    run, manifest = resume["run"], resume["manifest"]
    return isinstance(run, str) and _RUN.fullmatch(run) is not None and isinstance(manifest, str)


def _outputs_of(completed: Json, flow: Flow) -> list[Json] | None:
    if not isinstance(completed, list) or len(completed) > len(flow.steps):
        return None
    outputs: list[Json] = []
    for number, entry in enumerate(completed):
        if not isinstance(entry, dict) or entry.keys() != {"step", "action", "output"}:
            return None
        if (entry["step"], entry["action"]) != (number, flow.steps[number].action):
            return None
        outputs.append(entry["output"])
    return outputs


def _problem(name: str, code: str, message: str) -> dict[str, Any]:
    pointer = f"/{name.replace('~', '~0').replace('/', '~1')}" if name else ""
    return {"pointer": pointer, "field": name or "body", "code": code, "message": message, "in": "request"}
