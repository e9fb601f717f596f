"""Rows of invocation: idempotency records and the audit log."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models


class IdempotencyRecord(models.Model):
    """One intent of one subject: at most one handler run, whose answer is kept.

    ``running`` with a lease, then ``done`` with status and body. A failed run (5xx) deletes the row.
    """

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"

    id = models.BigAutoField(primary_key=True)
    subject = models.CharField(max_length=64)
    action = models.CharField(max_length=100)
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=71, help_text="Digest of method, path and canonical input.")
    state = models.CharField(max_length=8, choices=State.choices, default=State.RUNNING)
    lease_token = models.CharField(max_length=32)
    lease_until = models.DateTimeField()
    request_id = models.CharField(max_length=25, help_text="Of the run that holds or held the lease.")
    status = models.PositiveSmallIntegerField(null=True)
    body = models.TextField(blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["subject", "action", "key"], name="agentweb_idempotency_once"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.key}"


class AuditEntry(models.Model):
    """One call of an identified caller (or an unidentified one that changed something): what, who, outcome.

    Holds a digest of the input, never the input.
    """

    id = models.BigAutoField(primary_key=True)
    request_id = models.CharField(max_length=25, db_index=True)
    at = models.DateTimeField(db_index=True)
    protocol = models.CharField(max_length=20)
    action = models.CharField(max_length=100, db_index=True)
    effect = models.CharField(max_length=6)
    caller_kind = models.CharField(max_length=10)
    subject = models.CharField(max_length=64, db_index=True)
    grant = models.CharField(max_length=25, blank=True, db_index=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="agentweb_audit_entries",
    )
    input_digest = models.CharField(max_length=71, blank=True)
    page = models.TextField(blank=True, help_text="Path of the page on which it was done, if it was on one.")
    idempotency_key = models.CharField(max_length=255, blank=True)
    status = models.PositiveSmallIntegerField()
    outcome = models.CharField(max_length=64, help_text="'ok', 'replayed' or the error's code.")
    duration_us = models.PositiveIntegerField(help_text="Microseconds.")

    class Meta:
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.action} {self.outcome}"
