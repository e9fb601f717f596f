"""The site author's words are these and no others, and cost nothing until they are used."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import agentweb
from agentweb.catalog import flows, pages, words
from agentweb.wire import errors


def test_the_public_words_are_these() -> None:
    assert agentweb.__all__ == ["AgentError", "__version__", "action", "flow", "page"]
    assert agentweb.AgentError is errors.AgentError
    assert agentweb.action is words.action
    assert agentweb.flow is flows.flow
    assert agentweb.page is pages.page
    assert set(agentweb.__all__) <= set(dir(agentweb))


def test_an_unknown_word_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'pages'"):
        _ = agentweb.pages
    with pytest.raises(ImportError):
        exec("from agentweb import pages")  # noqa: S102 - a name that type checkers know is missing


def test_the_arguments_of_action_are_these() -> None:
    parameters = inspect.signature(agentweb.action).parameters
    assert list(parameters) == [
        "name", "title", "description", "effect", "scope", "input", "serializer", "form", "output", "example",
        "method", "path", "cost", "consequential", "idempotent", "confirm", "pages", "tags", "visible", "rate",
    ]  # fmt: skip
    assert parameters["name"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert all(
        parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in list(parameters.values())[1:]
    )
    assert all(parameter.default is not inspect.Parameter.empty for parameter in parameters.values())


def test_the_arguments_of_flow_are_these() -> None:
    assert list(inspect.signature(agentweb.flow).parameters) == [
        "name",
        "description",
        "input",
        "steps",
        "output",
    ]


def test_the_arguments_of_page_are_these() -> None:
    assert list(inspect.signature(agentweb.page).parameters) == [
        "path",
        "title",
        "description",
        "state",
        "markdown",
        "permission",
        "actions",
        "browser_actions",
    ]


def test_importing_the_package_loads_nothing_else() -> None:
    code = (
        "import sys, agentweb\n"
        "assert agentweb.__version__\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "assert loaded.isdisjoint({'django', 'rest_framework', 'jsonschema', 'nacl'}), loaded\n"
        "assert [name for name in sys.modules if name.startswith('agentweb.')] == []\n"
        "assert agentweb.AgentError('out_of_stock').code == 'out_of_stock'\n"
        "assert 'django' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
