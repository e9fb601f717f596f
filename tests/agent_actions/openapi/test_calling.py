"""An API that knows nothing of agents is called by the manifest that was made of its document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentweb.agent_actions.openapi.importing import manifest_from
from agentweb.client.agent import AgentClient
from agentweb.wire.errors import InputError
from tests.agent_actions.openapi.conftest import a_body, a_document, a_parameter
from tests.client.conftest import client, grant, keystore, site, time  # noqa: F401 - fixtures
from tests.client.site import Site

OBJECT = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}


@pytest.fixture
def call(site: Site, client: AgentClient, grant: Callable[..., str]) -> Callable[..., Any]:  # noqa: F811
    """Imports an operation, calls it with an input, and answers with the request as it arrived."""

    def calling(method: str, path: str, operation: dict[str, Any], value: Any) -> Any:
        grant()
        document = a_document((method, path, {"operationId": "it", **operation}))
        site.manifest = manifest_from(document, site=site.authority).manifest or {}
        client.call_action(site.url, "it", value)
        return site.seen[-1]

    return calling


def test_what_belongs_into_the_query_goes_there_under_its_own_name(call: Callable[..., Any]) -> None:
    parameters = [a_parameter("id", "path"), a_parameter("id", "query"), a_parameter("tag", "query")]
    seen = call(
        "put",
        "/pets/{id}",
        {"parameters": parameters, **a_body(OBJECT)},
        {"id__path": "a/b", "id__query": "q", "tag": "x y", "id": 5, "name": "Rex"},
    )
    assert (seen.method, seen.path) == ("PUT", "/pets/a%2Fb?id=q&tag=x%20y")
    assert seen.json == {"id": 5, "name": "Rex"}


def test_a_get_renames_its_query_too(call: Callable[..., Any]) -> None:
    parameters = [a_parameter("id", "path", {"type": "integer"}), a_parameter("id", "query")]
    seen = call("get", "/pets/{id}", {"parameters": parameters}, {"id__path": 7, "id__query": "q"})
    assert (seen.path, seen.body) == ("/pets/7?id=q", b"")


@pytest.mark.parametrize("value", [[1, 2], "text", 5, None, {"a": [True]}], ids=repr)
def test_a_body_that_is_no_object_is_sent_as_it_is(call: Callable[..., Any], value: Any) -> None:
    seen = call("post", "/batch", a_body({}), {"body": value})
    assert seen.json == value


def test_a_body_that_is_not_given_is_not_sent(call: Callable[..., Any]) -> None:
    seen = call("post", "/batch", a_body({"type": "array"}, required=False), {})
    assert seen.body == b""


def test_what_cannot_travel_in_a_query_is_refused_before_it_is_sent(call: Callable[..., Any]) -> None:
    parameters = [a_parameter("where", "query", {"type": "object"})]
    with pytest.raises(InputError):
        call("post", "/find", {"parameters": parameters, **a_body(OBJECT)}, {"where": {"a": {"b": 1}}})
