"""The paths of the messenger, as under the site's prefix; the manifest is at the root of the host."""

from __future__ import annotations

from typing import Final

MANIFEST: Final = ".well-known/aim.json"
ROOT: Final = "v2"
CHALLENGES: Final = f"{ROOT}/challenges"
REGISTER: Final = f"{ROOT}/agents/register"
AGENTS: Final = f"{ROOT}/agents"
ME: Final = f"{AGENTS}/me"
INBOX: Final = f"{ROOT}/inbox"
MESSAGES: Final = f"{ROOT}/messages"
THREADS: Final = f"{ROOT}/threads"
EVENTS: Final = f"{ROOT}/events"
CONTACTS: Final = f"{ROOT}/contacts"
POLICY: Final = f"{ROOT}/policy"
HEALTH: Final = f"{ROOT}/health"
OPENAPI: Final = "openapi.json"
AUTHENTICATION_GUIDE: Final = "docs/authentication.md"
ENVELOPES_GUIDE: Final = "docs/envelopes.md"
SIGNING_VECTOR: Final = "docs/signing-vector.json"
