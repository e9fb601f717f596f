"""Deleting what no check will ask for again. Nothing is deleted early to save room: limits bound the room."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from agentweb.access.models import Bucket, Nonce, Revocation
from agentweb.access.rows import delete_in_batches

_HOUR_US: Final = 3_600_000_000


def clear_expired(at: datetime) -> dict[str, int]:
    """Delete expired nonces, full buckets and revocations of expired grants; rows deleted of each kind.

    A bucket whose time is past equals one that was never touched. An hour is left, for clocks that differ.
    """
    return {
        "nonces": delete_in_batches(Nonce.objects.filter(expires_at__lt=at)),
        "buckets": delete_in_batches(Bucket.objects.filter(tat__lt=int(at.timestamp() * 1e6) - _HOUR_US)),
        "revocations": delete_in_batches(Revocation.objects.filter(expires_at__lt=at)),
    }
