"""A database that was restored from a backup: what it has forgotten, its agents have not."""

from __future__ import annotations

import secrets

from agentweb.access.database import write_patiently
from agentweb.aim import consumers, log
from agentweb.aim.cursors import EPOCH_BYTES
from agentweb.aim.models import LogConsumer, LogHead
from agentweb.wire.clock import now_datetime


def begin_epoch() -> None:
    """Give the log a new epoch: no cursor from before holds, for positions are given anew to other events; and no
    signature from before, for its nonce may be forgotten. Leases from before are nobody's.

    A signature may name a time as far ahead as clocks may differ (``MAX_SKEW_SECONDS``), and from its time alone
    nobody sees when it was made. So for just as long from now on signed requests are put off
    (``authentication.check_epoch``).
    """
    log.begin()
    head = LogHead.objects.filter(name=log.NAME)
    write_patiently(lambda: head.update(epoch=secrets.token_hex(EPOCH_BYTES), epoch_since=now_datetime()))
    held = LogConsumer.objects.filter(name__in=consumers.READERS)
    write_patiently(lambda: held.update(lease="", leased_until=None))
