"""Rows of the inverted index: which page has which term, and how many pages have one.

Terms are numbers (``terms.key_of``): short, of one length, and ordered alike in every database. No row has a foreign
key: a page's are deleted with ``indexing.forget_pages``, and what was left over by a killed run is found by the next.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models

DIGEST_LENGTH = 64
VERSION_LENGTH = 40


class SearchPosting(models.Model):
    """The page (its primary key) has the term, with this impact (``client.ranking``), in part ``place`` first.

    ``place`` is 0 where only its title, description or path has it.
    """

    pk = models.CompositePrimaryKey("page", "term")
    page = models.BigIntegerField()
    term = models.BigIntegerField()
    impact = models.PositiveSmallIntegerField()
    place = models.PositiveSmallIntegerField()

    class Meta:
        indexes: ClassVar = [
            # All that a query reads: the postings of a term, the weightiest first.
            models.Index(fields=["term", "-impact", "page"], name="agentweb_search_postings"),
        ]

    def __str__(self) -> str:
        return f"{self.page}: {self.term}"


class SearchTerm(models.Model):
    """How many pages have the term. Each has the term of nothing, ``terms.EVERY``."""

    term = models.BigIntegerField(primary_key=True)
    pages = models.IntegerField()

    def __str__(self) -> str:
        return str(self.term)


class SearchedPage(models.Model):
    """A page that is in the index: of which content (``ContentPage.digest``) and in which version of terms."""

    page = models.BigIntegerField(primary_key=True)
    digest = models.CharField(max_length=DIGEST_LENGTH)
    version = models.CharField(max_length=VERSION_LENGTH)

    def __str__(self) -> str:
        return str(self.page)
