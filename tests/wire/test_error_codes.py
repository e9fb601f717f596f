"""No code is made up on the way: whatever the package raises has its code from the one list."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import agentweb
from agentweb.wire import errors
from agentweb.wire.errors import STATUS, AgentError, ClientError, Code, InputError, RequestError

PACKAGE = Path(agentweb.__file__).parent
FAMILY = {
    name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, AgentError)
}
SITE = [path for path in sorted(PACKAGE.rglob("*.py")) if "client" not in path.relative_to(PACKAGE).parts]
"""What a site runs. The client's own errors are raised to its caller and sent to nobody."""

FROM_ELSEWHERE = {
    # A kept answer is given again, with the code that it had.
    ("invoke/door.py", "kept.pop('code')"),
    # A parameter that its signature takes from the list.
    ("agent_actions/paging.py", "code"),
    ("access/sessions.py", "code"),
    # The site's own word for its refusal, or its status in words.
    ("catalog/drf/refusals.py", "code"),
    ("catalog/drf/view_answers.py", "code"),
    # A refusal in the messenger's own word; a limit's own code; the one code that all problems of an envelope have.
    ("aim/errors.py", "_OWN_CODES.get(error.code, error.code)"),
    ("aim/events.py", "code"),
    ("aim/quotas.py", "slowest.code"),
    ("wire/aim/envelope.py", "codes.pop() if len(codes) == 1 else Code.INVALID_ENVELOPE"),
    # What the client's guard said of another site, as it was kept.
    ("index/crawl.py", "row.code or Code.SITE_UNREACHABLE"),
    ("index/submitting.py", "error.code"),
    # The page's own word for its refusal.
    ("aip/bridge/calls.py", "code"),
}


def codes_in(path: Path) -> Iterator[tuple[str, str | None]]:
    """(place, source of the code or None) for every error that a file constructs."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in FAMILY:
            continue
        given = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
        if name != InputError.__name__:  # whose first argument is the problems
            given = given or node.args[:1]
        yield (
            f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno}",
            ast.unparse(given[0]) if given else name,
        )


@pytest.mark.requirement("AA-3.4")
def test_every_error_of_a_site_takes_its_code_from_the_list() -> None:
    listed = {f"Code.{code.name}" for code in Code} | {InputError.__name__}
    found = [item for path in SITE for item in codes_in(path)]
    assert len(found) > 40
    others = {(place.partition(":")[0], code) for place, code in found if code not in listed}
    assert others == FROM_ELSEWHERE


@pytest.mark.requirement("AA-3.4")
def test_the_list_gives_every_code_of_a_site_one_status() -> None:
    assert InputError([]).code == Code.INVALID_INPUT
    assert set(STATUS) <= set(Code)
    for code in Code:
        error = RequestError(code) if code in STATUS else ClientError(code)
        assert error.status == STATUS.get(code, 500)


def test_the_text_of_an_input_error_lists_its_problems() -> None:
    problems = [
        {"pointer": f"/n{number}", "field": "n", "code": "type", "message": f"It is {number}."}
        for number in range(7)
    ]
    error = InputError(problems)
    first, *rest = str(error).split("\n  ")
    assert first == error.message
    assert rest == [*(f"/n{number}: It is {number}." for number in range(5)), "and 2 more"]
    assert str(InputError([{**problems[0], "pointer": ""}])).endswith("\n  input: It is 0.")
