"""AIP 0.1-demo: page manifests, in the public and the session form."""

from __future__ import annotations

from tests.spec.requirement import Requirement

INTRODUCTION = "The manifest (AIM)"
EXAMPLE = "Example"
STATE = "State"
ACTIONS = "Actions"
SCOPES = "Public vs session manifests"

REQUIREMENTS = (
    Requirement(
        "AIP-1.1",
        INTRODUCTION,
        "must",
        "Each registered page has its manifest as JSON at the page's address with .json.",
    ),
    Requirement(
        "AIP-1.2",
        INTRODUCTION,
        "must",
        "Each registered page has its manifest as TOON at the page's address with .toon.",
    ),
    Requirement(
        "AIP-1.3",
        INTRODUCTION,
        "must",
        "The .toon manifest decodes to exactly the .json manifest.",
    ),
    Requirement(
        "AIP-1.4",
        INTRODUCTION,
        "must",
        "A manifest shows what its page shows at the time of the request: after a change the next manifest "
        "has it.",
    ),
    Requirement(
        "AIP-1.5",
        INTRODUCTION,
        "must",
        "A manifest lists what can be done on its own page, and no action of other pages.",
    ),
    Requirement(
        "AIP-2.1",
        EXAMPLE,
        "must",
        'The manifest\'s protocol is "AIP".',
    ),
    Requirement(
        "AIP-2.2",
        EXAMPLE,
        "must",
        'The manifest\'s version is "0.1-demo".',
    ),
    Requirement(
        "AIP-2.3",
        EXAMPLE,
        "must",
        "The manifest's page is the path of the page it belongs to.",
    ),
    Requirement(
        "AIP-2.4",
        EXAMPLE,
        "must",
        "The manifest's sitemap is the absolute address of the site's sitemap.toon.",
    ),
    Requirement(
        "AIP-2.5",
        EXAMPLE,
        "must",
        "The address in sitemap answers and leads to the manifest of every registered page.",
    ),
    Requirement(
        "AIP-2.6",
        EXAMPLE,
        "must",
        "The manifest's state_scope says whether its state is that of a session or only the public schema.",
    ),
    Requirement(
        "AIP-2.7",
        EXAMPLE,
        "must",
        "browser_connected is true exactly while the session's person has the page open in a connected "
        "browser.",
    ),
    Requirement(
        "AIP-2.8",
        EXAMPLE,
        "must",
        "The manifest's invoke_url is an absolute address that accepts invocations.",
    ),
    Requirement(
        "AIP-2.9",
        EXAMPLE,
        "must",
        'The manifest\'s invoke_method is "POST".',
    ),
    Requirement(
        "AIP-2.10",
        EXAMPLE,
        "must",
        "invoke_example has an actionId and an input that the site accepts when they are posted as they "
        "stand.",
    ),
    Requirement(
        "AIP-2.11",
        EXAMPLE,
        "must",
        "Posting actionId and input to invoke_url runs that action with that input.",
    ),
    Requirement(
        "AIP-2.12",
        EXAMPLE,
        "must",
        "The manifest's actions are objects with id, description, input_schema, input_example and "
        "consequential.",
    ),
    Requirement(
        "AIP-2.13",
        EXAMPLE,
        "must",
        "The example's control panel, registered as a page, gives a session manifest with every member of "
        "the example.",
    ),
    Requirement(
        "AIP-3.1",
        STATE,
        "must",
        "state holds what the page's state function returned and nothing that the page did not choose.",
    ),
    Requirement(
        "AIP-3.2",
        STATE,
        "must",
        "state is an object of plain JSON values under names; what is not JSON never reaches the agent.",
    ),
    Requirement(
        "AIP-3.3",
        STATE,
        "must",
        "A page that gives no state has an empty one, so that all it holds stays private.",
    ),
    Requirement(
        "AIP-3.4",
        STATE,
        "must",
        "A password never appears in a manifest, at any depth, even when a state function returned it.",
    ),
    Requirement(
        "AIP-4.1",
        ACTIONS,
        "must",
        "An action's id is the value that actionId takes in an invocation.",
    ),
    Requirement(
        "AIP-4.2",
        ACTIONS,
        "must",
        "An action's description says in words for a model what the action does.",
    ),
    Requirement(
        "AIP-4.3",
        ACTIONS,
        "must",
        "input_schema is exact: an input that satisfies it passes validation, and one that does not is "
        "refused.",
    ),
    Requirement(
        "AIP-4.4",
        ACTIONS,
        "must",
        "input_schema is either of type string or an object whose members are all strings, with no nesting.",
    ),
    Requirement(
        "AIP-4.5",
        ACTIONS,
        "must",
        "input_example is valid by the input_schema beside it.",
    ),
    Requirement(
        "AIP-4.6",
        ACTIONS,
        "should",
        "An input of the example's shape with other values is never refused for its shape.",
    ),
    Requirement(
        "AIP-4.7",
        ACTIONS,
        "must",
        "consequential is true for every action that spends, sends, deletes or is declared to matter, and "
        "false for the rest.",
    ),
    Requirement(
        "AIP-4.8",
        ACTIONS,
        "should",
        "Our client asks its user before it invokes a consequential action.",
        planned="approval",
    ),
    Requirement(
        "AIP-4.9",
        ACTIONS,
        "must",
        "An action that takes a string accepts the bare string as input.",
    ),
    Requirement(
        "AIP-4.10",
        ACTIONS,
        "must",
        "An action that takes a string refuses an object around it, with a problem that says to send the "
        "bare string.",
    ),
    Requirement(
        "AIP-5.1",
        SCOPES,
        "must",
        'Without a token, state_scope is "public_schema_only".',
    ),
    Requirement(
        "AIP-5.2",
        SCOPES,
        "must",
        "Without a token, the manifest has the page's whole catalog of actions.",
    ),
    Requirement(
        "AIP-5.3",
        SCOPES,
        "must",
        "Without a token, state is empty.",
    ),
    Requirement(
        "AIP-5.4",
        SCOPES,
        "must",
        "A public manifest has no other visitor's data in any member, also right after a session was served.",
    ),
    Requirement(
        "AIP-5.5",
        SCOPES,
        "must",
        'For the holder of a live token, state_scope is "session".',
    ),
    Requirement(
        "AIP-5.6",
        SCOPES,
        "must",
        "For the holder of a live token, state is the present state of that session's person and of nobody "
        "else.",
    ),
    Requirement(
        "AIP-5.7",
        SCOPES,
        "must",
        "For the holder of a live token, the actions are those that this session has.",
    ),
    Requirement(
        "AIP-5.8",
        SCOPES,
        "must",
        "A token that is wrong, expired or revoked gets no session manifest.",
    ),
    Requirement(
        "AIP-5.9",
        SCOPES,
        "must",
        "An agent can obtain a session token that a logged-in person has agreed to.",
    ),
    Requirement(
        "AIP-5.10",
        SCOPES,
        "may",
        "The documentation has a reference of every member of the manifest.",
    ),
)
