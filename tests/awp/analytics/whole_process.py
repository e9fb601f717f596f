"""A process that counts, has a child that counts, and ends as servers do."""

from __future__ import annotations

import os
import sys
import time

import django

django.setup()

from django.db import connections  # noqa: E402

from agentweb.awp.analytics import counting  # noqa: E402
from agentweb.awp.analytics.models import AgentRequests  # noqa: E402


def count(protocol: str, times: int) -> None:
    for _ in range(times):
        counting.counts.add(protocol, "OpenAI")


counting.WRITE_SECONDS = 0.05
count("aip", 4)
deadline = time.monotonic() + 100
while not AgentRequests.objects.exists() and time.monotonic() < deadline:
    time.sleep(0.02)
print("thread", AgentRequests.objects.get().requests, flush=True)
# A connection belongs to one process.
connections.close_all()
counting.WRITE_SECONDS = 600
count("aip", 2)
child = os.fork()
if not child:
    count("awp", 3)
    sys.exit()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
