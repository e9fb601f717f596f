"""``Later``: a handler's answer that comes from elsewhere, and for which no transaction may wait.

A handler that asks a page in somebody's browser would hold its transaction, and on SQLite every other writer, for as
long as the page takes. So it writes down what it asks, and returns a ``Later``: the door commits, waits, and then
keeps the answer in a second short transaction. What the first one did stays done, whatever the answer is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Later:
    """``wait()`` answers as a handler would, or raises as one; it takes at most about ``seconds``.

    An AgentError with ``retry_after`` says that nothing was done, and frees the idempotency key. One without is kept
    as the answer of the key, a 5xx too: whether anything was done, nobody knows, and so it is not done again.

    The process may end while it is waited for. The next call with the key then does not ask again: with a ``reference``
    the handler is called with that as ``ctx.former``, in no transaction, and returns a ``Later`` for what became of it;
    without one the caller learns that it may have been done.
    """

    wait: Callable[[], Any]
    seconds: float
    reference: str = ""
