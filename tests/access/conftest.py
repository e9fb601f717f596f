"""People for whom agents act."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User


@pytest.fixture
def person(db: None) -> User:
    return User.objects.create_user("ann")
