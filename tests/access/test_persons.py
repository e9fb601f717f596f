"""Persons are found as the site's own default manager finds them, in one query."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection, models
from django.test.utils import CaptureQueriesContext, isolate_apps

from agentweb.access import persons


@pytest.mark.django_db
def test_a_person_is_the_one_that_the_manager_finds(django_user_model: type[User]) -> None:
    made = User.objects.create_user("anna", "anna@example.com", "secret", is_active=False, is_staff=True)
    made.last_login = datetime(2026, 5, 1, 12, 30, 0, 123_456, tzinfo=UTC)
    made.save()
    persons.find(made.pk)
    with CaptureQueriesContext(connection) as captured:
        found = persons.find(made.pk)
    assert len(captured) == 1
    expected = User.objects.get(pk=made.pk)
    assert found is not None
    assert {**vars(found), "_state": None} == {**vars(expected), "_state": None}
    assert (found._state.db, found._state.adding) == (expected._state.db, expected._state.adding)
    assert persons.find(made.pk + 1) is None
    found.first_name = "Anna"
    found.save()
    assert User.objects.get(pk=made.pk).first_name == "Anna"


class Tenants(models.Manager["models.Model"]):
    tenant = 1

    def get_queryset(self) -> models.QuerySet[models.Model]:
        return super().get_queryset().filter(tenant=self.tenant)


@pytest.mark.django_db(transaction=True)
@isolate_apps("tests")
def test_a_manager_of_the_sites_own_is_asked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    class Member(models.Model):
        id = models.UUIDField(primary_key=True)
        tenant = models.IntegerField()
        objects = Tenants()

        class Meta:
            app_label = "tests"

    with connection.schema_editor() as editor:
        editor.create_model(Member)
    try:
        member = Member.objects.create(id=uuid4(), tenant=1)
        monkeypatch.setattr(persons, "get_user_model", lambda: Member)
        assert persons.find(member.pk) == member
        monkeypatch.setattr(Tenants, "tenant", 2)
        assert persons.find(member.pk) is None
    finally:
        with connection.schema_editor() as editor:
            editor.delete_model(Member)


@pytest.mark.django_db(transaction=True)
@isolate_apps("tests")
def test_a_model_with_a_uuid_an_order_and_a_parent_is_read_like_any() -> None:
    class Base(models.Model):
        id = models.UUIDField(primary_key=True)
        notes = models.JSONField(default=dict)

        class Meta:
            app_label = "tests"

    class Worker(Base):
        since = models.DateTimeField()
        wage = models.DecimalField(max_digits=8, decimal_places=2)

        class Meta:
            app_label = "tests"
            ordering = ("since",)

    with connection.schema_editor() as editor:
        editor.create_model(Base)
        editor.create_model(Worker)
    try:
        made = Worker.objects.create(
            id=uuid4(), notes={"a": [1]}, since=datetime(2026, 1, 1, tzinfo=UTC), wage="12.50"
        )
        Worker.objects.create(id=uuid4(), since=datetime(2025, 1, 1, tzinfo=UTC), wage="1")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(persons, "get_user_model", lambda: Worker)
            found = persons.find(made.pk)
        assert {**vars(found), "_state": None} == {**vars(Worker.objects.get(pk=made.pk)), "_state": None}
    finally:
        with connection.schema_editor() as editor:
            editor.delete_model(Worker)
            editor.delete_model(Base)
