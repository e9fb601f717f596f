"""Flows: ordered calls of actions that a client runs (AGENT_ACTIONS section 9).

::

    flow(
        "buy_product",
        steps=[
            {"action": "search_products", "with": {"query": "$input.query"}},
            {
                "action": "add_to_cart",
                "with": {"product_id": "$steps.0.items.0.id", "quantity": "$input.quantity"},
            },
        ],
    )

A flow may be declared before the actions that it calls, so it is checked when the catalog is read.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agentweb.catalog.declaring import Findings, check_description, is_name
from agentweb.catalog.faults import Fault, FaultId
from agentweb.catalog.registry import registry
from agentweb.catalog.schema_shapes import properties_of
from agentweb.catalog.schema_sources import schema_of
from agentweb.wire.errors import ClientError
from agentweb.wire.flow_inputs import derived_input
from agentweb.wire.references import check_references, references_in, resolve
from agentweb.wire.safe_numbers import check_published
from agentweb.wire.schema import compile_schema
from agentweb.wire.strict_json import Json

if TYPE_CHECKING:  # actions know nothing of flows, and flows only what the registry hands them
    from agentweb.catalog.actions import Action

_FAULT_OF: Final = {
    "type": FaultId.FLOW_STEPS,
    "minItems": FaultId.FLOW_STEPS,
    "maxItems": FaultId.FLOW_STEPS,
    "unknown_action": FaultId.FLOW_ACTION,
    "reference": FaultId.FLOW_REFERENCE,
    "not_earlier": FaultId.FLOW_REFERENCE,
    "required": FaultId.FLOW_INPUT,
    "unknown_field": FaultId.FLOW_INPUT,
}
_HINTS: Final = {
    FaultId.FLOW_STEPS: 'Write steps=[{"action": "add_to_cart", "with": {"quantity": "$input.quantity"}}].',
    FaultId.FLOW_ACTION: "Correct the name; an action with faults of its own is not published.",
    FaultId.FLOW_REFERENCE: "Write $input.name or $steps.0.name, of an earlier step; a text that begins with $ is $$….",
    FaultId.FLOW_INPUT: "Give every required input of the action, and none that it does not take.",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One call: the action's name, and its input with references (``$input.x``, ``$steps.0.id``) in it.

    ``with_`` is an object, or one reference to an object.
    """

    action: str
    with_: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A flow that holds: its actions exist and get what they require, its references lead to earlier steps.

    ``output`` is what the flow answers, a value with references, or None: then it is the last step's output.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    steps: tuple[Step, ...]
    output: Json = None

    @property
    def where(self) -> str:
        return f"flow {self.name}"

    def resolve(self, actions: Mapping[str, Action]) -> tuple[Flow | None, list[Fault]]:
        """Itself: it has been checked."""
        return self, []


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFlow:
    """What was given to ``flow``, unchecked."""

    name: Any
    description: Any
    input: Any
    steps: Any
    output: Any
    where: str

    def resolve(self, actions: Mapping[str, Action]) -> tuple[Flow | None, list[Fault]]:
        """The flow among these actions, or None when an error forbids to publish it; and every fault."""
        findings = Findings(self.where)
        if not is_name(self.name):
            findings.note(
                FaultId.FLOW_NAME,
                f"{self.name!r} is not the name of a flow.",
                "Use lower-case letters, digits and underscores, a letter first, at most 100: 'buy_product'.",
            )
        description = check_description(self.description, findings) if self.description else ""
        own_input = self.read_input(findings)
        steps = self.read_steps(actions, own_input, findings)
        output = self.read_output(len(steps), findings)
        if findings.has_errors:
            return None, findings.faults
        input_schema = own_input
        if input_schema is None:
            try:
                input_schema = derived_input(
                    [(step.action, actions[step.action].input_schema, step.with_) for step in steps]
                )
            except ValueError as error:
                findings.note(FaultId.FLOW_SCHEMA, str(error), "Give the flow an input schema of its own.")
                return None, findings.faults
        flow = Flow(
            name=self.name,
            description=description,
            input_schema=input_schema,
            steps=steps,
            output=output,
        )
        return flow, findings.faults

    def read_input(self, findings: Findings) -> dict[str, Any] | None:
        if self.input is None:
            return None
        try:
            schema = schema_of(self.input)
            compile_schema(schema)
        except ValueError as error:
            findings.note(
                FaultId.FLOW_SCHEMA,
                f"The input schema is not valid: {error}",
                "Leave input out: it is derived from where the steps use it.",
            )
            return None
        return schema

    def read_steps(
        self, actions: Mapping[str, Action], own_input: dict[str, Any] | None, findings: Findings
    ) -> tuple[Step, ...]:
        steps = list(self.steps) if isinstance(self.steps, (list, tuple)) else self.steps
        try:
            check_published(steps)
        except ValueError as error:
            findings.note(
                FaultId.FLOW_STEPS, f"The steps are not plain JSON: {error}", _HINTS[FaultId.FLOW_STEPS]
            )
            return ()
        schemas = {name: action.input_schema for name, action in actions.items()}
        for problem in check_references(steps, actions=schemas, input_schema=own_input):
            kind = _FAULT_OF[problem["code"]]
            findings.note(kind, f"{problem['pointer']}: {problem['message']}", _HINTS[kind])
        if not isinstance(steps, list):
            return ()
        for place, step in enumerate(steps):
            extra = sorted(step.keys() - {"action", "with"}) if isinstance(step, dict) else ()
            if extra:
                findings.note(
                    FaultId.FLOW_STEPS,
                    f"/steps/{place}: A step has no member {extra[0]!r}.",
                    _HINTS[FaultId.FLOW_STEPS],
                )
        if findings.has_errors:
            return ()
        found = tuple(Step(step["action"], copy.deepcopy(step.get("with", {}))) for step in steps)
        for place, step in enumerate(found):
            self.check_literals(place, step, schemas[step.action], findings)
        return found

    def check_literals(self, place: int, step: Step, schema: dict[str, Any], findings: Findings) -> None:
        """What stands in a step without references is the same at each run, so it is checked now."""
        if not isinstance(step.with_, dict):
            return
        members = properties_of(schema, schema)
        for name, value in step.with_.items():
            if name not in members or any(references_in(value)):
                continue
            literal = resolve(value, None, [])
            whole = {"properties": {name: members[name]}, "$defs": schema.get("$defs", {})}
            for problem in compile_schema(whole).problems({name: literal})[0]:
                findings.note(
                    FaultId.FLOW_INPUT,
                    f"/steps/{place}/with{problem['pointer']}: {problem['message']}",
                    _HINTS[FaultId.FLOW_INPUT],
                )

    def read_output(self, number_of_steps: int, findings: Findings) -> Json:
        if self.output is None:
            return None
        try:
            check_published(self.output)
            found = list(references_in(self.output))
        except ValueError as error:
            findings.note(
                FaultId.FLOW_SCHEMA,
                f"The output is not plain JSON: {error}",
                'Write output={"order": "$steps.2.order_id"}, or leave it out.',
            )
            return None
        except ClientError as error:
            findings.note(FaultId.FLOW_REFERENCE, f"/output: {error.message}", _HINTS[FaultId.FLOW_REFERENCE])
            return None
        for pointer, reference in found:
            if reference.step is not None and number_of_steps and reference.step >= number_of_steps:
                findings.note(
                    FaultId.FLOW_REFERENCE,
                    f"/output{pointer}: There is no step {reference.step}; the first one is 0.",
                    _HINTS[FaultId.FLOW_REFERENCE],
                )
        output: Json = copy.deepcopy(self.output)
        return output


def flow(
    name: str,
    *,
    description: str = "",
    input: Any = None,
    steps: Iterable[Mapping[str, Any]] = (),
    output: Any = None,
) -> None:
    """Publish a flow, so that agents need not find out by themselves which actions follow each other.

    - ``steps``: at most 50 of ``{"action": name, "with": input}``. ``$input.x`` in an input reads the flow's own
      input, ``$steps.N.path`` what an earlier step answered; ``?`` at the end leaves the member out if there is
      nothing. A text that begins with ``$`` is written ``$$…``.
    - ``input``: a JSON Schema or a type; derived from the actions that get it when left out.
    - ``output``: what the flow answers, a value with references; the last step's output when left out.

    Faults are recorded (``manage.py check`` shows them), not raised; a flow with one is not published.
    """
    module = sys._getframe(1).f_globals.get("__name__", "?")
    registry.register_flow(
        DeclaredFlow(
            name=name,
            description=description,
            input=input,
            steps=steps,
            output=output,
            where=f"{module}: flow {name!r}",
        )
    )
