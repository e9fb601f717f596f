"""Rows that the test site's handlers write."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q


class Stock(models.Model):
    name = models.CharField(max_length=50, primary_key=True)
    left = models.IntegerField()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(left__gte=0), name="testsite_stock_not_negative")
        ]

    def __str__(self) -> str:
        return self.name


class Note(models.Model):
    """One row for each time a handler ran."""

    text = models.CharField(max_length=200)

    def __str__(self) -> str:
        return self.text
