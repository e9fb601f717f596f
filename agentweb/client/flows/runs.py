"""Runs of flows on the disk, beside the pending calls: what is done is not done again after a crash.

A run is written before its first step and after each one. The idempotency key of a step is ``run:number``, so that a
step whose answer was lost is asked for its outcome and not done twice. A run is open while it is not known how a step
ended or a person has been asked; the same flow with the same input then goes on with it. One that a site refused is
closed, and goes on only when it is named. One that is through is deleted.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from agentweb.client.errors import KeyStoreError
from agentweb.client.files import locked, make_private_folder, read_private, sync_folder, write_private
from agentweb.client.intents import Approved
from agentweb.wire.canonical import CanonicalError, canonicalize
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.strict_json import Json, dumps, loads

KEPT: Final = 30 * 86_400
"""Seconds after which a run that nobody went on with is forgotten."""

MAX_WRITTEN: Final = 33_554_432
"""Bytes of a run: the answers of a flow's steps are kept together, and a site may answer each with very many."""

_MAX_BYTES: Final = 67_108_864
_RUN: Final = re.compile(r"fr_[A-Za-z0-9_-]{22}")

logger = logging.getLogger("agentweb.client")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run. ``outputs`` are those of the steps that are done, ``begun`` when the next was first tried (Unix
    seconds), ``refused`` how often the site refused it, and ``approved`` what a person approved of it. ``is_open``:
    see the module."""

    run: str
    url: str
    site: str
    flow: str
    input: Json
    intent: str | None
    manifest: str
    created: float
    outputs: tuple[Json, ...] = ()
    is_open: bool = True
    begun: float | None = None
    refused: int = 0
    approved: Approved | None = None

    @property
    def step_key(self) -> str:
        """The idempotency key of the step that is next.

        After a refusal another one, because a site gives the kept answer to a key that it has answered.
        """
        again = f".{self.refused}" if self.refused else ""
        return f"{self.run}:{len(self.outputs)}{again}"

    def as_dict(self) -> dict[str, Any]:
        """For people and programs: what may be resumed."""
        return {
            "run": self.run,
            "site": self.site,
            "flow": self.flow,
            "input": self.input,
            "from": len(self.outputs),
            "manifest": self.manifest,
            "created": int(self.created),
            "is_open": self.is_open,
        }


class Runs:
    """The folder of one agent's runs; several processes may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, new: Run, *, is_new: bool = False) -> Run:
        """The open run of the same flow, input and intent at the same site, else ``new``, written to the disk.

        ``is_new`` closes an open one and begins anew.
        """
        make_private_folder(self.folder)
        with locked(self.folder / "runs"):
            # One that cannot be read may be this very one, and have paid already: it is said, and nothing begun.
            for known in sorted(map(self._read, self._paths()), key=_age):
                if known is not None and known.is_open and _call_of(known) == _call_of(new):
                    if not is_new:
                        return known
                    self.write(replace(known, is_open=False))
            self.write(new)
            return new

    def get(self, run: str) -> Run:
        """The run of this name. Raises ClientError ``not_found``."""
        found = self._read(self._path(run)) if _RUN.fullmatch(run) else None
        if found is None:
            raise ClientError(
                Code.NOT_FOUND,
                "This run of a flow is not on this machine, or is through. Run the flow anew.",
                run=run[:100],
            )
        return found

    def write(self, run: Run) -> None:
        """Bring it to the disk. Raises ClientError ``response_invalid`` (``too_large``), and nothing is written, for
        one whose answers are too large together: what is written can be read again."""
        data = _to_bytes(run)
        if len(data) > MAX_WRITTEN:
            raise ClientError(
                Code.RESPONSE_INVALID,
                f"The answers of the steps of {run.flow} are larger than {MAX_WRITTEN} bytes together.",
                reason="too_large",
            )
        make_private_folder(self.folder)
        write_private(self._path(run.run), data, replace=True)

    def remove(self, run: str) -> None:
        """It is through, and its answer on its way to the caller."""
        with suppress(FileNotFoundError):
            self._path(run).unlink()
            sync_folder(self.folder)

    def all(self) -> list[Run]:
        """Every run that is not through, oldest first. A file that cannot be read is logged and left as it is."""
        return sorted(self._runs(), key=_age)

    def forget_old(self, now: float) -> None:
        """Delete runs that began so long ago that no site remembers their keys."""
        for run in self.all():
            if now - run.created > KEPT:
                self.remove(run.run)

    def _runs(self) -> Iterator[Run]:
        for path in self._paths():
            try:
                run = self._read(path)
            except KeyStoreError as error:
                logger.warning("A run of a flow is left out: %s", error)
                continue
            if run is not None:
                yield run

    def _paths(self) -> list[Path]:
        return list(self.folder.glob("fr_*.json")) if self.folder.is_dir() else []

    def _path(self, run: str) -> Path:
        return self.folder / f"{run}.json"

    def _read(self, path: Path) -> Run | None:
        try:
            content: Any = loads(read_private(path), max_bytes=_MAX_BYTES, max_depth=70, allow_nul=True)
        except FileNotFoundError:
            return None
        except AgentError as error:
            if isinstance(error, KeyStoreError):
                raise
            raise _unreadable(path) from error
        try:
            if content["version"] != 1 or not _RUN.fullmatch(content["run"]):
                raise _unreadable(path)
            return Run(
                run=content["run"],
                url=str(content["url"]),
                site=str(content["site"]),
                flow=str(content["flow"]),
                input=content["input"],
                intent=None if content["intent"] is None else str(content["intent"]),
                manifest=str(content["manifest"]),
                created=float(content["created"]),
                outputs=tuple(content["outputs"]),
                is_open=content["open"] is True,
                begun=None if content["begun"] is None else float(content["begun"]),
                refused=int(content["refused"]),
                approved=Approved.read(content["approved"]),
            )
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise _unreadable(path) from error


def new_run(
    *, url: str, site: str, flow: str, value: Json, intent: str | None, manifest: str, now: float
) -> Run:
    """A run that is not on the disk yet."""
    return Run(
        run=random_id("fr_"),
        url=url,
        site=site,
        flow=flow,
        input=value,
        intent=intent,
        manifest=manifest,
        created=now,
    )


def _age(run: Run | None) -> tuple[float, str]:
    return (0.0, "") if run is None else (run.created, run.run)


def _call_of(run: Run) -> bytes:
    call: Json = [run.site, run.flow, run.input, run.intent]
    try:
        return canonicalize(call)
    except CanonicalError:
        return dumps(call)


def _to_bytes(run: Run) -> bytes:
    return dumps(
        {
            "version": 1,
            "run": run.run,
            "url": run.url,
            "site": run.site,
            "flow": run.flow,
            "input": run.input,
            "intent": run.intent,
            "manifest": run.manifest,
            "created": run.created,
            "outputs": list(run.outputs),
            "open": run.is_open,
            "begun": run.begun,
            "refused": run.refused,
            "approved": None if run.approved is None else run.approved.as_dict(),
        }
    )


def _unreadable(path: Path) -> KeyStoreError:
    return KeyStoreError(
        "keystore_invalid",
        f"{path} is not a run of a flow of this version. What it did is not known: find that out, then move it away.",
    )
