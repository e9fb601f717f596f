"""Workers that are killed, brokers that forget, hang or are not there: no effect is lost, hidden or done twice.

What is inside the database is exact: every account has received as many messages as there are for it. What the signal's
receivers do is done at least once for each message, in the order of the log.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.aim.working.processes import NOBODY_DIES, Proxy, Worker, posting, verdict_when_done, workers
from tests.support.races import Database, run
from tests.support.redis import redis_url

POSTERS = "tests.aim.working.posters"
# Seconds that no post takes, on whatever machine, unless it waits for a broker that never answers.
SLOWEST = 60.0


def test_workers_that_are_killed_lose_nothing_and_count_nothing_twice(
    race_database: Database, tmp_path: Path
) -> None:
    run(race_database, f"{POSTERS}:register")
    command = ["tests.aim.working.worker", "--every", "0.1"]
    with workers(*(Worker(race_database, command, tmp_path / f"{n}.log") for n in range(2))) as ours:
        posted = posting(race_database, 10)
        kills = 0
        while not posted.done():
            time.sleep(random.uniform(0.5, 3))
            random.choice(ours).kill_and_restart()
            kills += 1
        [answer] = posted.result()
        found = verdict_when_done(race_database)
        assert kills >= 3
        assert found["lag"] == 0, (found, ours[0].text()[-3_000:])
        assert found["messages"] == answer["posted"] == found["received"]
        assert (found["is_exact"], found["told_once_at_least"], found["in_order"]) == (True, True, True)


@pytest.mark.services
def test_celery_workers_and_a_redis_that_is_killed_emptied_and_hung_lose_nothing(
    race_database: Database, tmp_path: Path
) -> None:
    import redis

    url = redis_url(13 if race_database.kind == "sqlite" else 14)
    store = redis.Redis.from_url(url)
    store.flushdb()
    proxy = Proxy(url)
    run(race_database, f"{POSTERS}:register")
    command = ["celery", "-A", "tests.aim.working.celery_site", "worker", "-c", "2", "-B", "-l", "WARNING"]
    command += [
        "-s",
        str(tmp_path / "schedule"),
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
    ]
    broker = {"AGENTWEB_TEST_BROKER": proxy.url}
    try:
        with workers(Worker(race_database, command, tmp_path / "celery.log", **broker)) as [celery]:
            posted = posting(race_database, 16, **broker)
            time.sleep(4)
            for _ in range(2):
                celery.kill_and_restart()
                time.sleep(1.5)
                store.flushdb()
            time.sleep(2)
            proxy.hangs = True
            time.sleep(3)
            proxy.hangs = False
            store.flushdb()
            [answer] = posted.result()
            found = verdict_when_done(race_database, 90)
            assert found["lag"] == 0, (found, celery.text()[-3_000:])
    finally:
        proxy.close()
        store.flushdb()
    assert answer["slowest"] < SLOWEST, answer
    assert found["messages"] == answer["posted"] == found["received"]
    assert (found["is_exact"], found["told_once_at_least"], found["in_order"]) == (True, True, True)


def test_a_broker_that_is_not_there_costs_nothing(race_database: Database, tmp_path: Path) -> None:
    run(race_database, f"{POSTERS}:register")
    command = ["tests.aim.working.worker", "--every", "0.1"]
    nobody = {"AGENTWEB_TEST_BROKER": "redis://127.0.0.1:1/0"}
    with workers(Worker(race_database, command, tmp_path / "worker.log", **NOBODY_DIES)):
        [answer] = posting(race_database, 2, **nobody).result()
        found = verdict_when_done(race_database)
    assert found["messages"] == answer["posted"] == found["received"] == found["told"]
    assert found["is_exact"]
