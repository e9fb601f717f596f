"""For the tests of a site: an agent that signs, against Django's test client, and what it needs.

::

    agent = TestAgent(scopes=["cart:write"])  # its key, and a grant issued by the site
    answer = agent.post("/agent/add_to_cart", {"product_id": "tea-1", "quantity": 2})
    assert answer.json()["lines"] == 1

An agent needs a database, and a site that knows its ``AGENTWEB["ORIGIN"]``. Grants of all kinds come from ``grant``,
``PersonKey`` and ``TestAgent.delegate_to``, a session from ``TestAgent.with_session``. ``clock`` moves the time, and
``catalog.only`` narrows what the site offers.
"""

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured

if not apps.apps_ready:
    raise ImproperlyConfigured(
        "agentweb.testing works inside a Django project: use it in the project's tests or in `manage.py shell`. A "
        "script of its own sets DJANGO_SETTINGS_MODULE and calls django.setup() first."
    )

from agentweb.catalog.registry import registry
from agentweb.testing.agents import TestAgent
from agentweb.testing.catalogs import catalog
from agentweb.testing.clocks import Clock, clock
from agentweb.testing.grants import GrantChain, grant, mandate
from agentweb.testing.people import PersonKey

__all__ = [
    "Clock",
    "GrantChain",
    "PersonKey",
    "TestAgent",
    "catalog",
    "clock",
    "grant",
    "mandate",
    "registry",
]
