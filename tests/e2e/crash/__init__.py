"""Crash harness: ``python -m tests.e2e.crash --scenario messenger --database postgres --seconds 30 --seed 1``.

Real servers, signed writers and resuming readers, on a database of their own. All along, processes are killed with
SIGKILL: the server's group or one of its workers, the background worker, Redis, the PostgreSQL postmaster with its
children, readers and writers. Everybody keeps a journal of what they meant and of what they were told. At the end,
with everything up again, the oracle compares the journals with the database.

The messenger is described here, money in ``tests.e2e.crash.money``.

``python -m tests.e2e.crash.proof`` shows that the oracles would see it: bugs are planted in the servers, one in each
run, and each run must fail by the rule that is meant for it.
"""
