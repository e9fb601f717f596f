"""The row that every contestant writes, the audit row of those that have none of their own, and a bare message."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Order(models.Model):
    product = models.CharField(max_length=50)
    quantity = models.PositiveIntegerField()
    note = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return self.product


class Audit(models.Model):
    at = models.DateTimeField(auto_now_add=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    action = models.CharField(max_length=100, db_index=True)
    status = models.PositiveSmallIntegerField()

    def __str__(self) -> str:
        return self.action


class BareMessage(models.Model):
    """The least that keeps a message."""

    author = models.CharField(max_length=32)
    message_id = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)
    envelope = models.TextField()

    def __str__(self) -> str:
        return self.message_id
