"""Columns of whole numbers go to 2^63-1, JSON to 2^53-1: what is published is read, and the site decides the rest."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pytest
from django import forms
from django.db import connection
from rest_framework import permissions, serializers, viewsets

from agentweb import action
from agentweb.agent_actions import published
from agentweb.catalog.drf.serializer_schemas import schema_of_serializer
from agentweb.catalog.faults import FaultId
from agentweb.catalog.registry import registry
from agentweb.client.agent import AgentClient
from agentweb.wire.safe_numbers import unsafe_numbers
from tests.catalog.declarations import refused
from tests.client.test_real_site import ORIGIN, agent, issue, network, refusal  # noqa: F401
from tests.site.models import Tally

pytestmark = pytest.mark.django_db
BEYOND = 2**63


class TallySerializer(serializers.ModelSerializer[Tally]):
    class Meta:
        model = Tally
        fields: ClassVar = ["id", "visits", "total"]


class TallyForm(forms.ModelForm):
    class Meta:
        model = Tally
        fields: ClassVar = ["visits", "total"]


class TallyViewSet(viewsets.ModelViewSet[Tally]):
    """Tallies."""

    queryset = Tally.objects.order_by("id")
    serializer_class = TallySerializer
    permission_classes = (permissions.AllowAny,)


@dataclass
class Counted:
    visits: Annotated[int, {"minimum": -(2**63), "maximum": 2**63 - 1}]


def test_the_database_has_bounds_that_json_has_not() -> None:
    """Or this file would prove nothing."""
    least, most = connection.ops.integer_field_range("BigIntegerField")
    assert (least, most) == (-(2**63), 2**63 - 1)


def test_models_with_wide_numbers_are_published_and_called(agent: AgentClient) -> None:  # noqa: F811
    with registry.only():
        published.forget()
        words = {"effect": "write", "scope": "tally:write"}

        @action(serializer=TallySerializer, output=TallySerializer, **words)
        def by_serializer(inp: Any, ctx: Any) -> Any:
            """Count."""
            return ctx.serializer.save()

        @action(form=TallyForm, **words)
        def by_form(inp: Any, ctx: Any) -> Any:
            """Count."""
            return {"id": ctx.form.save().pk}

        @action(**words)
        def by_hint(inp: Counted, ctx: Any) -> Any:
            """Count."""
            return {"visits": inp.visits}

        action.from_view(
            TallyViewSet, prefix="tallies", only=["create", "list"], scopes={"create": "tally:write"}
        )
        assert [each for each in registry.faults() if each.is_error] == []
        issue(agent, "tally:write")
        manifest = agent.discover_actions(ORIGIN)
        assert len(manifest.actions) == 5
        assert list(unsafe_numbers(manifest.document)) == []
        given = {"visits": 3, "total": -5}
        assert agent.call_action(ORIGIN, "by_serializer", given).value["total"] == -5
        agent.call_action(ORIGIN, "by_form", given)
        agent.call_action(ORIGIN, "tallies_create", given)
        assert Tally.objects.filter(**given).count() == 3
        assert len(agent.call_action(ORIGIN, "tallies_list").value) == 3
        # What the schema cannot say any more, what it was derived from says.
        for name in ("by_serializer", "by_form", "tallies_create"):
            problems = refusal(agent, name, {"visits": 3, "total": BEYOND}).problems or []
            assert [problem["pointer"] for problem in problems] == ["/total"], name
        assert agent.call_action(ORIGIN, "by_hint", {"visits": 7}).value == {"visits": 7}
        problems = refusal(agent, "by_hint", {"visits": BEYOND}).problems or []
        assert [(problem["pointer"], problem["code"]) for problem in problems] == [("/visits", "maximum")]
    published.forget()


def test_only_bounds_that_no_double_holds_are_left_out() -> None:
    found = schema_of_serializer(TallySerializer)["properties"]
    assert found["total"] == {"type": "integer"}
    assert found["visits"]["minimum"] == 0


@pytest.mark.parametrize(
    ("words", "kind", "place"),
    [
        ({"input": {"properties": {"n": {"maximum": BEYOND}}}}, FaultId.SCHEMA, "/properties/n/maximum"),
        ({"input": {"properties": {"n": {"default": BEYOND}}}}, FaultId.SCHEMA, "/properties/n/default"),
        ({"input": {"properties": {"n": {"enum": [1, BEYOND]}}}}, FaultId.SCHEMA, "/properties/n/enum/1"),
        ({"input": {"properties": {"n": {"const": -BEYOND}}}}, FaultId.SCHEMA, "/properties/n/const"),
        ({"output": {"minimum": -BEYOND}}, FaultId.SCHEMA, "/minimum"),
        (
            {
                "input": {"type": "object", "properties": {"n": {"type": "integer"}}},
                "example": {"n": BEYOND},
            },
            FaultId.EXAMPLE,
            "/n",
        ),
    ],
)
def test_a_number_that_is_written_by_hand_is_a_fault_that_names_its_place(
    words: dict[str, Any], kind: FaultId, place: str
) -> None:
    found = refused(**words)
    assert found.id == kind
    assert f"at '{place}' is beyond" in found.message
    json.dumps(found.message)
