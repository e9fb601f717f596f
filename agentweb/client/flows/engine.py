"""Running the steps of a flow: references become values, an error says where the flow stopped.

It knows neither network nor disk. Who runs a flow says how a step is performed, and keeps the outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.references import parse_reference, resolve
from agentweb.wire.strict_json import Json


@dataclass(frozen=True, slots=True)
class FlowStep:
    """One step: an action's name and its input, with references in it."""

    action: str
    given: Json


@dataclass(frozen=True, slots=True)
class Position:
    """What it takes to go on with a flow later: the run's name, and the hash of the manifest that it follows."""

    run: str
    manifest: str

    def resume_at(self, step: int) -> dict[str, Any]:
        """The member ``resume`` of an error: given back, the flow goes on there."""
        return {"run": self.run, "from": step, "manifest": self.manifest}


Perform = Callable[[int, str, Json], Json]
"""Performs the step of this number: action and input -> the response body. Raises AgentError."""


def run_steps(
    flow: str,
    steps: Sequence[FlowStep],
    value: Json,
    outputs: list[Json],
    *,
    position: Position,
    perform: Perform,
    output: Json = None,
) -> Json:
    """What the flow answers: ``output`` with its references replaced, without one the last step's output.

    ``outputs`` are those of the steps that are done, and grow by one with each step. An AgentError of a step, or a
    reference that names nothing, is raised with ``flow``, ``step``, ``action``, ``completed`` and ``resume``. After the
    last step (its references in ``output``) ``action`` is None.
    """
    try:
        while len(outputs) < len(steps):
            number = len(outputs)
            step = steps[number]
            given = resolve(step.given, value, outputs, step=number)
            outputs.append(perform(number, step.action, given))
        if output is None:
            return outputs[-1] if outputs else None
        return resolve(output, value, outputs)
    except AgentError as error:
        if error.code == Code.FLOW_REFERENCE_MISSING:
            error.message += _whose(error, steps, outputs)
        error.extra |= where_it_stopped(flow, steps, outputs, position)
        raise


def where_it_stopped(
    flow: str, steps: Sequence[FlowStep], outputs: Sequence[Json], position: Position
) -> dict[str, Any]:
    """The members of an error that say which step failed and what was done before it."""
    number = len(outputs)
    return {
        "flow": flow,
        "step": number,
        "action": steps[number].action if number < len(steps) else None,
        "completed": [
            {"step": place, "action": steps[place].action, "output": done}
            for place, done in enumerate(outputs)
        ],
        "resume": position.resume_at(number),
    }


def _whose(error: AgentError, steps: Sequence[FlowStep], outputs: Sequence[Json]) -> str:
    """The step whose answer it was, and that it found nothing, if it did: a sentence for whoever wonders why."""
    reference = parse_reference(str(error.extra.get("reference", "")))
    if reference is None or reference.step is None or reference.step >= len(steps):
        return ""
    named = f" That is what step {reference.step} ({steps[reference.step].action}) answered"
    with suppress(AgentError):  # too large to be looked at
        if resolve(error.extra.get("found"), None, outputs) == []:
            return f"{named}: it found nothing."
    return f"{named}."


def read_steps(steps: Sequence[Json]) -> list[FlowStep]:
    """The steps of a manifest's flow that has no problems. Raises ClientError ``flow_invalid`` for any other."""
    found: list[FlowStep] = []
    for step in steps:
        if not isinstance(step, dict) or not isinstance(step.get("action"), str):
            raise ClientError(Code.FLOW_INVALID, "A step of the flow names no action.")
        found.append(FlowStep(str(step["action"]), step.get("with", {})))
    return found
