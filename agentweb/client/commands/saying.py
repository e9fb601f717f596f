"""What commands answer with, and how it reaches a terminal: what a site wrote never moves the cursor."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final, Protocol, TextIO

from agentweb.client.commands.streams import escaped
from agentweb.client.commands.wording import member_text, with_options
from agentweb.client.errors import MAX_MESSAGE
from agentweb.wire.errors import AgentError, Code
from agentweb.wire.strict_json import dumps

Said = tuple[Any, Iterable[str]]
"""The document for ``--json`` (an iterator: one document after the other), and the lines for people."""

LONGEST: Final = 500
"""Characters of a text of a site that are shown to a person."""
_MOST: Final = 100
"""Lines of one kind about an error; with ``--json`` there are all."""

# Line ends of Unicode and what moves a cursor, which JSON may hold as they are, inside strings only.
_NOT_PLAIN: Final = re.compile(r"[\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


class Add(Protocol):
    """Adds a command to the parser; see ``commands``."""

    def __call__(
        self, name: str, run: Callable[[Any, argparse.Namespace], Said], sentence: str
    ) -> argparse.ArgumentParser: ...


class Waiting(Exception):
    """Nothing was refused, and a person has to do something before there is more; the exit code says so."""

    def __init__(self, said: Said) -> None:
        super().__init__()
        self.said = said


class Refused(Exception):
    """It was answered, and the answer is no; the exit code says so."""

    def __init__(self, said: Said) -> None:
        super().__init__()
        self.said = said


class OutputError(Exception):
    """What was to be printed cannot be: nobody reads it any more (``is_closed``), or the disk is full."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.is_closed = isinstance(cause, BrokenPipeError)


def say(line: str, stream: TextIO | None = None) -> None:
    """One line to standard output, or to ``stream``; at once, for whoever reads along. Raises OutputError."""
    stream = stream or sys.stdout
    try:
        stream.write(f"{line}\n")
        stream.flush()
    except OSError as error:
        raise OutputError(error) from error


def plain(text: str) -> str:
    """One line that a terminal only shows: what a site wrote never moves the cursor or begins a line of its own."""
    return "".join(char if char.isprintable() else " " for char in text)


def quoted(text: str, longest: int = LONGEST) -> str:
    """A text of a site within a line of ours: no longer, and each run of blanks is one.

    Blanks that fill up the line would let it begin the next one, as if we had said what stands there.
    """
    text = " ".join(plain(text[: 4 * longest]).split())
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def json_lines(document: Any) -> Iterator[str]:
    """One JSON value on a line; of a command that gives several, each on its own."""
    for each in document if isinstance(document, Iterator) else (document,):
        yield _NOT_PLAIN.sub(escaped, dumps(each).decode())


def print_error(error: AgentError, *, as_json: bool) -> None:
    """The error, as JSON on standard output or as lines on standard error."""
    body = with_options(error).as_dict()
    if as_json:
        for line in json_lines({"error": body}):
            say(line)
        return
    whole = "the manifest" if error.code == Code.MANIFEST_INVALID else "the input"
    say(f"{quoted(str(body.pop('code')))}: {quoted(str(body.pop('message')), MAX_MESSAGE)}", sys.stderr)
    for problem in (body.pop("problems", None) or [])[:_MOST]:
        where = problem.get("pointer") or whole
        said = problem.get("message", problem.get("code", ""))
        say(f"  {quoted(str(where))}: {quoted(str(said), MAX_MESSAGE)}", sys.stderr)
    for name, value in islice(body.items(), _MOST):
        said = value if isinstance(value, str) else member_text(name, value)
        # JSON is whole: somebody copies the request for a grant from here.
        shown = plain(dumps(value).decode()) if said is None else quoted(said, MAX_MESSAGE)
        say(f"  {quoted(name)}: {shown}", sys.stderr)


def is_watched() -> bool:
    """Whether a person reads along."""
    return sys.stderr.isatty()
