"""YAML as a way to write JSON: mappings with names, lists and scalars, by the core schema of YAML 1.2.

OpenAPI asks for that schema, and PyYAML reads an older one, in which ``no`` is false and ``12:30`` is 750. What JSON
cannot say is refused rather than guessed: tags, dates as such, a name twice, aliases that go round in circles.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

import yaml

from agentweb.wire.json_writing import dumps
from agentweb.wire.strict_json import Json, loads

MAX_DEPTH: Final = 64
MAX_NODES: Final = 1_000_000
"""Of a document whose aliases are written out: a few lines of them can stand for more than there is memory."""

_TAG: Final = "tag:yaml.org,2002:"
_CORE: Final = (
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
)
"""Section 10.3.2 of YAML 1.2.2: tag, form, first characters. ``.inf`` and ``.nan`` stay texts, as JSON has neither."""


class _Loader(yaml.SafeLoader):
    """SafeLoader that resolves plain scalars by the core schema alone."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's own


for _name, _form, _first in _CORE:
    _Loader.add_implicit_resolver(f"{_TAG}{_name}", re.compile(rf"^(?:{_form})$"), [*_first])
_Loader.add_implicit_resolver(f"{_TAG}null", re.compile(r"^$"), [""])


def read_yaml(content: bytes, *, max_bytes: int) -> Json:
    """The document as ``strict_json.loads`` gives it.

    Raises ValueError for what is no YAML, or says what JSON does not; and the codes of ``loads``.
    """
    try:
        root = _Loader(content.decode("utf-8")).get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else ""
        raise ValueError(f"{getattr(error, 'problem', None) or 'it cannot be read'}{where}") from None
    except UnicodeDecodeError:
        raise ValueError("it is not in UTF-8") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return loads(dumps(_Plain().of(root)), max_bytes=max_bytes)


class _Plain:
    """Nodes as plain values, as many as a document may have."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def of(self, node: yaml.Node | None, depth: int = 0) -> Any:
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise ValueError("it is too large or too deep once its aliases are written out")
        if node is None:
            return None
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node, depth)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return [self.of(each, depth + 1) for each in node.value]
        return _scalar(node)

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            # Whatever it looks like: the 200 of a response is a name.
            if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
                raise ValueError(f"a name is no text{_at(key)}")
            if key.value in found:
                raise ValueError(f"{key.value[:100]!r} stands twice{_at(key)}")
            found[key.value] = self.of(value, depth + 1)
        return found


def _scalar(node: yaml.Node) -> Any:
    text, kind = str(node.value), node.tag.removeprefix(_TAG)
    if isinstance(node, yaml.ScalarNode):
        if kind == "str":
            return text
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        if kind in {"int", "float"}:
            return _number(text, kind, node)
    raise ValueError(f"the tag {node.tag[:100]} means nothing here{_at(node)}")


def _number(text: str, kind: str, node: yaml.Node) -> Any:
    form = next(form for name, form, _ in _CORE if name == kind)
    if not re.fullmatch(form, text) or len(text) > 1_000:
        raise ValueError(f"this is no number{_at(node)}")
    if kind == "float":
        return Decimal(text)
    return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)


def _at(node: yaml.Node) -> str:
    return f" (line {node.start_mark.line + 1}, column {node.start_mark.column + 1})"
