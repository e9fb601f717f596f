"""Make the site's tables, keys and tokens; prints as JSON what the load needs to know."""

from __future__ import annotations

import json
import os
import sys

import django

DAY = 86_400


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.site.settings"
    django.setup()
    from django.contrib.auth.models import User  # noqa: PLC0415 - after setup
    from django.core.management import call_command  # noqa: PLC0415
    from django_mcpz.bearer_tokens.models import Token as McpzToken  # noqa: PLC0415
    from rest_framework.authtoken.models import Token  # noqa: PLC0415

    from agentweb.access import grants, sessions, site_keys  # noqa: PLC0415
    from agentweb.testing import mandate  # noqa: PLC0415
    from agentweb.wire.signing import SigningKey  # noqa: PLC0415
    from benchmarks.messenger import population  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    # Apart: tables without migrations are made first, and PostgreSQL wants the users' table before.
    call_command("migrate", run_syncdb=True, verbosity=0)
    site_keys.ensure_active_key()
    population.settle()
    user = User.objects.create_user("buyer")
    key = SigningKey.generate()
    chain = grants.issue(
        subject=key.public,
        scopes=["orders:*"],
        expires_in=DAY,
        site="127.0.0.1",
        mandate=mandate("USD:1.00/1000000.00"),
        user=user,
    )
    session, token = sessions.create(user=user, scopes=["orders:*"], expires_in=DAY, site="127.0.0.1")
    json.dump(
        {
            "drf_token": Token.objects.create(user=user).key,
            "mcpz_token": McpzToken.create(name="load", user=user)[1],
            "session": session.pk,
            "session_token": token,
            "grant": chain[0].id,
            "seed": key.seed.hex(),
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
