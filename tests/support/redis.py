"""The Redis of this machine, for tests of what goes through one: in a database of our own."""

from __future__ import annotations

import os

import pytest

DATABASE = 13


def redis_url(database: int = DATABASE) -> str:
    """Its URL. Skips where there is none; fails where it must be (AGENTWEB_REQUIRE_SERVICES=1)."""
    import redis

    url = f"redis://127.0.0.1:6379/{database}"
    try:
        redis.Redis.from_url(url, socket_connect_timeout=1, socket_timeout=1).ping()
    except redis.RedisError as error:
        if os.environ.get("AGENTWEB_REQUIRE_SERVICES") == "1":
            raise
        pytest.skip(f"Redis does not answer on 127.0.0.1: {error}")
    return url
