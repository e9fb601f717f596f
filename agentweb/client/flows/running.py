"""Running a flow at its site: every step a call of its own, kept on the disk, under the policy of the person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from agentweb.client.approvals.gate import Answer
from agentweb.client.errors import OUTCOME_UNKNOWN, SiteError, UnreachableError
from agentweb.client.flows.engine import FlowStep, Position, read_steps, run_steps, where_it_stopped
from agentweb.client.flows.plan import FlowPlan, plan
from agentweb.client.flows.runs import Run, Runs, new_run
from agentweb.client.grants import Known, narrowest
from agentweb.client.inputs import read_input
from agentweb.client.intents import Approved, Begun
from agentweb.client.invoking import ActionResult, Invoking, Wish
from agentweb.client.manifest import Manifest, ManifestFlow
from agentweb.client.pending import MAX_AGE
from agentweb.client.session import Found, Session
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.money import format_amount
from agentweb.wire.strict_json import Json, dumps

_STILL_OPEN: Final = frozenset({Code.NEEDS_HUMAN, Code.GRANT_REQUIRED, Code.HANDLER_ERROR, OUTCOME_UNKNOWN})


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowResult:
    """What a flow answered. ``outputs`` are the response bodies of its steps, ``receipts`` the verified ones in them
    that this call brought, ``overcharges`` what steps of it took beyond what they said to cost."""

    value: Json
    run: str
    outputs: tuple[Json, ...]
    receipts: tuple[Mapping[str, Any], ...] = ()
    overcharges: tuple[Mapping[str, Any], ...] = ()

    def json(self) -> str:
        """The value as JSON text, with its numbers exactly as the site wrote their values."""
        return dumps(self.value).decode("utf-8")


class Progress(Protocol):
    """Told of a flow while it runs; ``number`` counts from 0."""

    def planned(self, plan: FlowPlan) -> None:
        """Before the first step: what is to come, and the most that it may cost as far as that is known."""

    def begins(self, number: int, action: str) -> None:
        """A step begins."""

    def ended(self, number: int, result: ActionResult) -> None:
        """A step is done."""


@dataclass(frozen=True, slots=True)
class _Flow:
    manifest: Manifest
    flow: ManifestFlow
    steps: list[FlowStep]
    is_hidden: bool


class FlowRunning:
    """Runs flows through one session."""

    def __init__(self, session: Session, invoking: Invoking, runs: Runs) -> None:
        self._session = session
        self._invoking = invoking
        self._runs = runs

    def run(
        self,
        url: str,
        name: str,
        value: object,
        *,
        resume: str | Mapping[str, Any] | None,
        intent: str | None,
        new_intent: bool,
        answer: Answer,
        progress: Progress | None,
    ) -> FlowResult:
        """See ``AgentClient.run_flow``."""
        found = self._find(url, name)
        if resume is None:
            given = read_input(
                {} if value is None else value, found.flow.input_schema(found.manifest.actions)
            )
            self._runs.forget_old(self._session.clock())
            run = self._runs.begin(
                new_run(
                    url=url,
                    site=found.manifest.site,
                    flow=name,
                    value=given,
                    intent=intent,
                    manifest=found.manifest.digest,
                    now=self._session.clock(),
                ),
                is_new=new_intent,
            )
        else:
            run = self._runs.get(_run_named(resume))
            if (run.site, run.flow) != (found.manifest.site, name):
                raise ClientError(
                    Code.FLOW_INVALID, f"Run {run.run} is one of {run.flow} at {run.site}.", run=run.run
                )
        return self._go_on(found, run, answer, progress)

    def plan(self, url: str, name: str, value: object) -> FlowPlan:
        """What the flow needs and may cost with this input; nothing is begun."""
        found = self._find(url, name)
        given = read_input({} if value is None else value, found.flow.input_schema(found.manifest.actions))
        return plan(name, found.manifest.site, found.steps, found.manifest.actions, value=given, outputs=())

    def _find(self, url: str, name: str) -> _Flow:
        session = self._session
        manifest = session.discovery.load(url)
        is_hidden = False
        if name in manifest.flows:
            flow = manifest.flow(name)
        else:
            with session.looking_beyond(manifest, url) as hidden:
                if hidden is not None and name in hidden.flows:
                    manifest, is_hidden = hidden, True
                flow = manifest.flow(name)
        return _Flow(manifest, flow, read_steps(flow.steps), is_hidden)

    def _go_on(self, found: _Flow, run: Run, answer: Answer, progress: Progress | None) -> FlowResult:
        manifest, name = found.manifest, found.flow.name
        outputs = list(run.outputs)
        position = Position(run.run, run.manifest)
        stopped = where_it_stopped(name, found.steps, outputs, position)
        if run.manifest != manifest.digest:
            raise ClientError(
                Code.MANIFEST_CHANGED,
                f"{manifest.site} changed its manifest since this run of {name} began, so the run cannot go on. "
                "Look at what was completed, then run the flow anew (new_intent=True).",
                **stopped,
            )
        planned = plan(name, manifest.site, found.steps, manifest.actions, value=run.input, outputs=outputs)
        if progress is not None:
            progress.planned(planned)
        missing = self._missing(found, planned, is_begun=run.begun is not None)
        if missing is not None:
            missing.extra |= stopped
            raise missing
        performing = _Performing(self._session, self._invoking, self._runs, found, run, answer, progress)
        try:
            value = run_steps(
                name,
                found.steps,
                run.input,
                outputs,
                position=position,
                perform=performing.step,
                output=found.flow.output,
            )
        except AgentError as error:
            performing.close(error)
            raise
        self._runs.remove(run.run)
        return FlowResult(
            value=value,
            run=run.run,
            outputs=tuple(outputs),
            receipts=tuple(performing.receipts),
            overcharges=tuple(performing.overcharges),
        )

    def _missing(self, found: _Flow, planned: FlowPlan, *, is_begun: bool) -> ClientError | None:
        """``grant_required`` when no grant will do for a step to come; its request asks for all of them at once."""
        session, manifest = self._session, found.manifest
        facts = session.known(manifest.site)
        spent = dict(facts.spent)
        lacks: list[ClientError] = []
        for place, step in enumerate(planned.steps):
            if not (step.action.needs_grant or found.is_hidden):
                continue
            is_safe = step.action.effect != "read" or step.action.method == "GET"
            # One that was begun may have been paid already, out of what was left then.
            amount = 0 if is_begun and place == 0 else step.amount
            need = session.need_of(manifest, step.action, amount, may_spend=is_safe)
            chain = narrowest(session.keystore.chains, need, Known(facts.ended, spent))
            if chain is None:
                try:
                    session.choose_grant(manifest, step.action, need)
                except ClientError as error:
                    lacks.append(error)
                else:
                    lacks.append(_too_much(manifest.site, planned))
            elif step.spends and amount is not None:
                # What the steps before will have taken is not there for this one.
                for grant in chain:
                    spent[grant.id] = spent.get(grant.id, 0) + amount
        return _together(lacks, planned) if lacks else None


class _Performing:
    """The steps of one run, as calls."""

    def __init__(
        self,
        session: Session,
        invoking: Invoking,
        runs: Runs,
        found: _Flow,
        run: Run,
        answer: Answer,
        progress: Progress | None,
    ) -> None:
        self._session, self._invoking, self._runs = session, invoking, runs
        self._found, self._run = found, run
        self._answer = answer
        self._progress = progress
        self.receipts: list[Mapping[str, Any]] = []
        self.overcharges: list[Mapping[str, Any]] = []

    def step(self, number: int, name: str, given: Json) -> Json:
        """Call the action; its output is on the disk when this returns."""
        if self._progress is not None:
            self._progress.begins(number, name)
        manifest = self._found.manifest
        kept = _StepIntent(self._runs, self._run, self._session.clock)
        wish = Wish(answer=self._answer, kept=kept, key=self._run.step_key, run=self._run.run)
        # The answer is to the question at which the run had stopped. What comes later is asked on its own.
        self._answer = Answer()
        try:
            result = self._invoking.call(
                Found(manifest, manifest.action(name), self._found.is_hidden), given, wish
            )
        finally:
            self._run = kept.run
        done = replace(
            self._run,
            outputs=(*self._run.outputs, result.value),
            begun=None,
            refused=0,
            approved=None,
            is_open=True,
        )
        self._runs.write(done)
        self._run = done
        self.receipts += result.receipts
        if result.overcharge is not None:
            self.overcharges.append(result.overcharge)
        if self._progress is not None:
            self._progress.ended(number, result)
        return result.value

    def close(self, error: AgentError) -> None:
        """Keep the run; closed, when the site said how the step ended and the same call would end so again."""
        is_known = not (
            error.code in _STILL_OPEN
            or error.retry_after is not None
            or isinstance(error, UnreachableError)
            or (isinstance(error, SiteError) and error.status >= 500)
            or error.code == Code.RESPONSE_INVALID
        )
        if is_known:
            # When the run goes on, the step is meant anew: under another key, and asked about again.
            self._run = replace(
                self._run, is_open=False, begun=None, approved=None, refused=self._run.refused + 1
            )
        self._runs.write(self._run)


class _StepIntent:
    """The intent of the step that is next, kept in the run (``intents.Intent``)."""

    def __init__(self, runs: Runs, run: Run, clock: Callable[[], float]) -> None:
        self._runs, self.run, self._clock = runs, run, clock

    def find(self) -> Begun | None:
        if self.run.begun is None:
            return None
        return Begun(self.run.step_key, is_resumed=True, approved=self.run.approved)

    def begin(self, *, key: str | None, approved: Approved | None) -> Begun:
        known = self.find()
        if known is not None and self.run.begun is not None and self._clock() - self.run.begun > MAX_AGE:
            raise ClientError(
                OUTCOME_UNKNOWN,
                "This step was begun more than a day ago and its outcome was never learned; the site may have "
                "forgotten its key. Find out whether it acted, then run the flow anew (new_intent=True).",
                idempotency_key=known.key,
                created=int(self.run.begun),
            )
        begun = self.run.begun if known is not None else self._clock()
        self.run = replace(
            self.run, begun=begun, approved=approved if approved is not None else self.run.approved
        )
        self._runs.write(self.run)
        return Begun(self.run.step_key, known is not None, self.run.approved)

    def settle(self) -> None:
        """The output of the step settles it, and is written in the same moment."""


def _run_named(resume: str | Mapping[str, Any]) -> str:
    given: object = resume  # from a model, too
    named = given.get("run") if isinstance(given, Mapping) else given
    if not isinstance(named, str):
        raise ClientError(
            Code.FLOW_INVALID,
            'resume is the member "resume" of an error of this flow, or the name of its run.',
        )
    return named


def _too_much(site: str, planned: FlowPlan) -> ClientError:
    most = " and ".join(f"{amount} {currency}" for currency, amount in planned.most.items())
    return ClientError(
        Code.GRANT_REQUIRED,
        f"The steps may cost {most} together, which no grant of {site} has left.",
        site=site,
    )


def _together(lacks: Sequence[ClientError], planned: FlowPlan) -> ClientError:
    """One error for all steps: the first one's, with a request that has every scope and the whole cost."""
    first = lacks[0]
    scopes: list[str] = []
    for error in lacks:
        for scope in error.extra.get("grant_request", {}).get("scopes", []):
            if scope not in scopes:
                scopes.append(scope)
    request = dict(first.extra.get("grant_request") or {"expires_in": 86_400})
    request["scopes"] = scopes or sorted({step.action.scope for step in planned.steps if step.action.scope})
    request["reason"] = f"To run {planned.flow} at {planned.site}."
    wanted = {step.currency for step in planned.steps if step.spends and step.amount is not None}
    if len(wanted) == 1 and any(
        "mandate" in error.extra.get("grant_request", {}) or "grant_request" not in error.extra
        for error in lacks
    ):
        [currency] = wanted
        known = [step.amount for step in planned.steps if step.spends and step.amount is not None]
        if currency is not None:
            request["mandate"] = {
                "currency": currency,
                "per_tx": format_amount(max(known), currency),
                "total": format_amount(sum(known), currency),
            }
    first.extra["grant_request"] = request
    required = sorted({step.action.scope for step in planned.steps if step.action.scope})
    first.extra["required_scopes"] = required
    return first
