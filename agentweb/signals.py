"""Signals for the site: sent after the transaction has committed, with primary keys and plain values.

- ``action_invoked``: sender the action's name; ``request_id, protocol, subject, user_id, status, outcome``.
- ``receipt_issued``: sender the action's name; ``receipt`` (the signed document).
- ``approval_asked``: sender the action's name; ``approval_id, user_id`` (None when only staff can decide).
- ``grant_revoked``: sender ``"grant"`` or ``"key"``; ``ident``.
"""

from __future__ import annotations

from django.dispatch import Signal

action_invoked = Signal()
receipt_issued = Signal()
approval_asked = Signal()
grant_revoked = Signal()
