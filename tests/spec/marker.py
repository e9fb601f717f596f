"""Which tests prove which requirements, read from the sources of the tests.

The scan parses and imports nothing, so it sees the whole tree even when one file of it is run, and with no
database or settings at hand. It understands ``pytest.mark.requirement("AA-1.1", ...)`` where pytest does:

- as a decorator of a test function or of a test class,
- in ``pytestmark`` of a module or of a test class,
- in the ``marks`` of a ``pytest.param`` inside a ``parametrize`` decorator.

A marker anywhere else, or with anything but literal ids, is reported as a problem: it would seem to prove
something and prove nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath

NAME = "requirement"
_IDLE = frozenset({"skip", "xfail"})


@dataclass(frozen=True, slots=True)
class Proof:
    """One test that names one requirement; ``test`` is a pytest node id without parameters.

    ``runs`` is false for a test that is always skipped or expected to fail, which proves nothing.
    """

    requirement: str
    test: str
    runs: bool = True


@dataclass(frozen=True, slots=True)
class Scan:
    """``tests`` are all node ids without parameters, and whether each runs."""

    proofs: list[Proof] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    tests: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Marks:
    """The marks in force at one place: requirement ids, and whether tests there run."""

    ids: tuple[str, ...] = ()
    runs: bool = True

    def __add__(self, other: _Marks) -> _Marks:
        return _Marks(self.ids + other.ids, self.runs and other.runs)


def scan_tree(tests: Path) -> Scan:
    """Scan every Python file below the folder ``tests``; node ids begin with that folder's name."""
    found = Scan()
    for path in sorted(tests.rglob("*.py")):
        scan = scan_source(path.read_text(encoding="utf-8"), path.relative_to(tests.parent).as_posix())
        found.proofs.extend(scan.proofs)
        found.problems.extend(scan.problems)
        found.tests.update(scan.tests)
    return found


def scan_source(source: str, path: str) -> Scan:
    """Scan one file's text. ``path`` names it in node ids; its last part says if pytest collects it."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return Scan(problems=[f"{path}:{error.lineno}: cannot be parsed: {error.msg}"])
    reader = _Reader(path)
    if PurePath(path).match("test_*.py"):
        reader.read_body(tree.body, path, _Marks())
    reader.report_strays(tree)
    return reader.scan


class _Reader:
    """Walks what pytest collects in one file and remembers which markers it met on the way."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.scan = Scan()
        self._met: set[ast.AST] = set()

    def read_body(self, body: Iterable[ast.stmt], node_id: str, outer: _Marks) -> None:
        statements = list(_flat(body))
        marks = outer
        for statement in statements:
            if (value := _pytestmark(statement)) is not None:
                listed = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
                marks += self._marks(listed)
        for statement in statements:
            if isinstance(statement, ast.ClassDef) and _is_test_class(statement):
                inner = marks + self._marks(statement.decorator_list)
                self.read_body(statement.body, f"{node_id}::{statement.name}", inner)
            elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name.startswith(
                "test"
            ):
                own = marks + self._marks(statement.decorator_list)
                test = f"{node_id}::{statement.name}"
                self.scan.tests[test] = own.runs
                # dict: a test may meet the same id on its class and on itself
                self.scan.proofs.extend(Proof(id_, test, own.runs) for id_ in dict.fromkeys(own.ids))

    def report_strays(self, tree: ast.Module) -> None:
        """Every marker that the walk did not meet stands where pytest collects nothing."""
        for node in ast.walk(tree):
            if _is_mark(node, NAME) and node not in self._met:
                self._problem(node, "a requirement marker that no collected test carries, or that has no ids")

    def _marks(self, expressions: Iterable[ast.expr]) -> _Marks:
        ids: list[str] = []
        runs = True
        for expression in expressions:
            mark = expression.func if isinstance(expression, ast.Call) else expression
            if any(_is_mark(mark, name) for name in _IDLE):
                runs = False
            for node in ast.walk(expression):
                if isinstance(node, ast.Call) and _is_mark(node.func, NAME):
                    ids.extend(self._ids(node))
        return _Marks(tuple(ids), runs)

    def _ids(self, call: ast.Call) -> list[str]:
        ids = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        if ids and len(ids) == len(call.args) and not call.keywords:
            self._met.add(call.func)
            return ids
        self._met.add(call.func)
        self._problem(call, "a requirement marker takes one or more ids, written out as strings")
        return []

    def _problem(self, node: ast.AST, message: str) -> None:
        self.scan.problems.append(f"{self.path}:{getattr(node, 'lineno', 0)}: {message}")


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module or class, also those under if, try and with; never those of functions."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            for part in ("body", "orelse", "finalbody"):
                yield from _flat(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from _flat(handler.body)


def _pytestmark(statement: ast.stmt) -> ast.expr | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
            return value
        case ast.AnnAssign(target=ast.Name(id="pytestmark"), value=value):
            return value
    return None


def _is_test_class(node: ast.ClassDef) -> bool:
    bases = [base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in node.bases]
    if any(base.endswith("TestCase") for base in bases):
        return True  # pytest collects unittest's classes whatever they are called
    has_init = any(isinstance(child, ast.FunctionDef) and child.name == "__init__" for child in node.body)
    return node.name.startswith("Test") and not has_init


def _is_mark(node: ast.AST, name: str) -> bool:
    """``pytest.mark.<name>`` or, after ``from pytest import mark``, ``mark.<name>``."""
    match node:
        case ast.Attribute(value=ast.Attribute(attr="mark") | ast.Name(id="mark"), attr=attr):
            return attr == name
    return False
