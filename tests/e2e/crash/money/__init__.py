"""Money under the crash harness: ``python -m tests.e2e.crash --scenario money``.

A shop with two servers on one database: one keeps its own ledger, one has a payment provider that is slow, late,
declines, loses its answers and does not answer. Buyers pay, buy by agreements, under grants for one use and under
grants that others handed on, run flows, ask for refunds and give up half way, often with several copies of the same
call at once. Servers, worker, postmaster and buyers are killed all along. What the buyers were told, the books of the
provider and the rows of the site must tell one story in the end.
"""
