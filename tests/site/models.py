"""Rows that the test site's handlers write."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
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


class Tally(models.Model):
    """Whole numbers with the bounds that the database gives them: 2^63-1 of SQLite's, and of a big one's everywhere."""

    visits = models.PositiveIntegerField()
    total = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.visits} {self.total}"


class Writer(models.Model):
    name = models.CharField(max_length=50)

    def __str__(self) -> str:
        return self.name


class Book(models.Model):
    """What the views of the API are about: every kind of value, and a row that belongs to somebody."""

    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=100)
    price = models.DecimalField(max_digits=7, decimal_places=2)
    published = models.DateField(null=True)
    added = models.DateTimeField()
    key = models.UUIDField(unique=True)
    writer = models.ForeignKey(Writer, models.CASCADE, related_name="books")
    # An app without migrations gets its tables first, and PostgreSQL refuses a constraint on one that is not there yet.
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, db_constraint=False)

    def __str__(self) -> str:
        return self.title
