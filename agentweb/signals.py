"""Signals for the site: sent after the transaction has committed, with primary keys and plain values.

- ``action_invoked``: sender the action's name; ``request_id, protocol, subject, user_id, status, outcome``.
- ``receipt_issued``: sender the action's name; ``receipt`` (the signed document).
- ``approval_asked``: sender the action's name; ``approval_id, user_id`` (None when only staff can decide).
- ``grant_revoked``: sender ``"grant"`` or ``"key"``; ``ident``.
- ``message_accepted``: sender the address of who wrote; ``recipient`` (an address), ``message_id, cursor``. Sent by a
  worker (``agentweb_worker``, the task ``agentweb.sweep``), in the order of the log, at least once: after a crash the
  last ones come again, so a receiver takes the pair of sender and ``message_id`` for one message. A receiver that
  raises is logged and not told again. What takes long belongs into a task of the site's.
"""

from __future__ import annotations

from django.dispatch import Signal

action_invoked = Signal()
receipt_issued = Signal()
approval_asked = Signal()
grant_revoked = Signal()
message_accepted = Signal()
