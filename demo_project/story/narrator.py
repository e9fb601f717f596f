"""Telling the story: short lines for a reader, with colour on a terminal and plain text anywhere else."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Final

from rich.console import Console
from rich.text import Text

_WIDTH: Final = 9
_LONGEST: Final = 160

Progress = Callable[[str], None]


class UnexpectedError(Exception):
    """A step went otherwise than the story says."""

    def __init__(self, what: str, expected: Any, got: Any) -> None:
        super().__init__(what)
        self.what = what
        self.expected = expected
        self.got = got


class Narrator:
    """Prints to a rich console; ``expect`` also judges."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._steps = 0

    def title(self, text: str) -> None:
        self._print(Text(text, style="bold"))

    def step(self, text: str) -> None:
        """The next chapter's heading."""
        self._steps += 1
        self._print(Text())
        self._print(Text(f"{self._steps}. {text}", style="bold"))

    def says(self, who: str, text: str, *, style: str = "cyan") -> None:
        """One line of somebody: the agent, the site, Ada."""
        self._print(Text.assemble("   ", (who.ljust(_WIDTH), style), text))

    def agent(self, text: str) -> None:
        self.says("agent", text, style="cyan")

    def helper(self, text: str) -> None:
        """An agent at the pages, with a token."""
        self.says("helper", text, style="cyan")

    def site(self, text: str) -> None:
        self.says("site", text, style="magenta")

    def person(self, text: str) -> None:
        self.says("Ada", text, style="yellow")

    def expect(self, what: str, expected: Any, got: Any) -> None:
        """Say that it is so, or raise UnexpectedError."""
        if expected != got:
            raise UnexpectedError(what, expected, got)
        told = what if expected is True else f"{what}: {shown(expected)}"
        self._print(Text.assemble("   ", ("ok".ljust(_WIDTH), "green"), (told, "green")))

    def failed(self, error: UnexpectedError) -> None:
        self.says("NOT OK", error.what, style="bold red")
        self.says("expected", shown(error.expected), style="red")
        self.says("got", shown(error.got), style="red")

    @contextmanager
    def working(self, what: str) -> Iterator[Progress]:
        """Show that something takes its time, and afterwards how long it took."""
        began = time.monotonic()
        if self.console.is_terminal:
            with self.console.status(f"{what} …") as status:
                yield lambda text: status.update(f"{what} … {text}")
            self._print(Text.assemble("   ", what, (_seconds(began), "dim")))
            return
        self.console.print(Text(f"   {what} …"), end="", soft_wrap=True)
        self.console.file.flush()
        try:
            yield lambda text: None
        except BaseException:
            self._print(Text())
            raise
        self._print(Text(_seconds(began)))

    def _print(self, text: Text) -> None:
        # Soft wrap: the terminal breaks long lines, a pipe gets them whole.
        self.console.print(text, soft_wrap=True)
        self.console.file.flush()


def shown(value: Any) -> str:
    """A value on one line, cut when it is long."""
    text = value if isinstance(value, str) else json.dumps(value, default=_plain, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return str(value)


def _seconds(began: float) -> str:
    return f"  {time.monotonic() - began:.1f} s"
