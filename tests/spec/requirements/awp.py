"""AWP 1.0: the discovery manifest, content endpoints, token budgets and the compliance checklist."""

from __future__ import annotations

from tests.spec.requirement import Requirement

OVERVIEW = "Overview"
MANIFEST = "Discovery Manifest Schema"
FUNCTIONS = "Function Schema"
BUDGETS = "Token Budgets"
CONTRACTS = "Endpoint Contracts"
VERSIONING = "Versioning Policy"
CHECKLIST = "Compliance Checklist"

REQUIREMENTS = (
    Requirement(
        "AWP-1.1",
        OVERVIEW,
        "must",
        "The content endpoints are under /awp/ at the standard paths, on every site alike.",
    ),
    Requirement(
        "AWP-1.2",
        OVERVIEW,
        "may",
        "A site whose actions are published describes them as function schemas; one without actions leaves "
        "that out.",
    ),
    Requirement(
        "AWP-1.3",
        OVERVIEW,
        "may",
        "A site with an MCP server says so in the manifest; one without leaves it out.",
    ),
    Requirement(
        "AWP-2.1",
        MANIFEST,
        "must",
        "GET /.well-known/agentic-web-protocol.json answers with the discovery manifest.",
    ),
    Requirement(
        "AWP-2.2",
        MANIFEST,
        "must",
        "Following links from the discovery manifest alone, an agent reaches every other AWP document of "
        "the site.",
    ),
    Requirement(
        "AWP-2.3",
        MANIFEST,
        "must",
        "The served manifest as a whole is valid by the specification's JSON Schema of draft 2020-12.",
    ),
    Requirement(
        "AWP-2.4",
        MANIFEST,
        "must",
        "The manifest is an object with version, name, description, capabilities and endpoints.",
    ),
    Requirement(
        "AWP-2.5",
        MANIFEST,
        "must",
        'The manifest\'s version is the string "1.0" and no number or other string.',
    ),
    Requirement(
        "AWP-2.6",
        MANIFEST,
        "must",
        "The manifest's name has 1 to 100 characters; a setting outside that is a check error.",
    ),
    Requirement(
        "AWP-2.7",
        MANIFEST,
        "must",
        "The manifest's description has 10 to 2,000 characters; a setting outside that is a check error.",
    ),
    Requirement(
        "AWP-2.8",
        MANIFEST,
        "must",
        "The manifest's capabilities are a list with at least one entry and no entry twice.",
    ),
    Requirement(
        "AWP-2.9",
        MANIFEST,
        "must",
        "A capability is one of content, api, search, mcp and analytics, and only what the site really has "
        "is listed.",
    ),
    Requirement(
        "AWP-2.10",
        MANIFEST,
        "must",
        "The manifest's endpoints are an object that has manifest.",
    ),
    Requirement(
        "AWP-2.11",
        MANIFEST,
        "must",
        "endpoints.manifest is a path that begins with a slash, and the full manifest is served there.",
    ),
    Requirement(
        "AWP-2.12",
        MANIFEST,
        "may",
        "endpoints.content, endpoints.api and endpoints.mcp are strings where the site has these parts, and "
        "absent elsewhere.",
    ),
    Requirement(
        "AWP-2.13",
        MANIFEST,
        "may",
        "authentication is an object that says with a boolean whether it is required, with strings by which "
        "methods, and with a string where to register.",
    ),
    Requirement(
        "AWP-2.14",
        MANIFEST,
        "may",
        "rate_limits gives requests per minute and per day as integers of at least 1, and these limits are "
        "the enforced ones.",
    ),
    Requirement(
        "AWP-2.15",
        MANIFEST,
        "may",
        "llms_txt is a string that leads to the site's llms.txt.",
    ),
    Requirement(
        "AWP-2.16",
        MANIFEST,
        "may",
        "a2a_agent_card is a string, given only by a site that has such a card.",
    ),
    Requirement(
        "AWP-2.17",
        MANIFEST,
        "may",
        "updated_at is an RFC 3339 date with time.",
    ),
    Requirement(
        "AWP-2.18",
        MANIFEST,
        "may",
        "A site owner can have a manifest validated on a page and from a command line and sees every "
        "problem.",
    ),
    Requirement(
        "AWP-3.1",
        FUNCTIONS,
        "must",
        "GET /awp/api/tools/functions.json answers with the function schemas.",
    ),
    Requirement(
        "AWP-3.2",
        FUNCTIONS,
        "must",
        'The functions document has version "1.0" and a list functions, one entry for each published action.',
    ),
    Requirement(
        "AWP-3.3",
        FUNCTIONS,
        "must",
        "A function has a name and a description.",
    ),
    Requirement(
        "AWP-3.4",
        FUNCTIONS,
        "must",
        "A function has a method and a path, and a call to them runs it.",
    ),
    Requirement(
        "AWP-3.5",
        FUNCTIONS,
        "must",
        "A function's parameters are a JSON Schema object with types, enums, bounds, defaults and required "
        "members as declared.",
    ),
    Requirement(
        "AWP-3.6",
        FUNCTIONS,
        "must",
        "A function's returns describe its result.",
    ),
    Requirement(
        "AWP-3.7",
        FUNCTIONS,
        "must",
        "A function's tags are a list of strings.",
    ),
    Requirement(
        "AWP-3.8",
        FUNCTIONS,
        "must",
        "auth_required is true exactly for the functions that are refused without a grant or session.",
    ),
    Requirement(
        "AWP-3.9",
        FUNCTIONS,
        "must",
        "An agent that has read nothing but the functions document makes a call that succeeds.",
    ),
    Requirement(
        "AWP-4.1",
        BUDGETS,
        "must",
        "No text that has a budget is ever served above it, however long its source is.",
    ),
    Requirement(
        "AWP-4.2",
        BUDGETS,
        "must",
        "Tokens are counted by tiktoken with the encoding of GPT-4, without using the network.",
    ),
    Requirement(
        "AWP-4.3",
        BUDGETS,
        "may",
        "Four characters for a token is a rule of thumb only: a text is judged by its counted tokens.",
    ),
    Requirement(
        "AWP-4.4",
        BUDGETS,
        "must",
        "The description in the discovery manifest is at most 200 tokens.",
    ),
    Requirement(
        "AWP-4.5",
        BUDGETS,
        "must",
        "The content summary is at most 500 tokens.",
    ),
    Requirement(
        "AWP-4.6",
        BUDGETS,
        "must",
        "The agent instructions are at most 300 tokens.",
    ),
    Requirement(
        "AWP-4.7",
        BUDGETS,
        "must",
        "Each served part of a page's content is at most 2,000 tokens.",
    ),
    Requirement(
        "AWP-4.8",
        BUDGETS,
        "must",
        "The description of an API endpoint is at most 100 tokens.",
    ),
    Requirement(
        "AWP-4.9",
        BUDGETS,
        "must",
        "The description of a function is at most 150 tokens.",
    ),
    Requirement(
        "AWP-4.10",
        BUDGETS,
        "must",
        "The introduction of llms.txt is at most 200 tokens.",
    ),
    Requirement(
        "AWP-4.11",
        BUDGETS,
        "must",
        "A text above its budget gives a warning of the validator with the counted tokens, not an error.",
    ),
    Requirement(
        "AWP-4.12",
        BUDGETS,
        "may",
        "A directory of sites ranks those lower which are often above their budgets.",
        reason="It concerns the ranking of a directory, which a site's own software has no part in.",
    ),
    Requirement(
        "AWP-5.1",
        CONTRACTS,
        "must",
        "Every AWP endpoint answers with the header X-AWP-Version: 1.0.",
    ),
    Requirement(
        "AWP-5.2",
        CONTRACTS,
        "must",
        "Every AWP endpoint answers with Access-Control-Allow-Origin: * whether or not the request has an "
        "Origin, and to preflights too.",
    ),
    Requirement(
        "AWP-5.3",
        CONTRACTS,
        "must",
        "The well-known manifest answers 200 to everyone, without a key or login.",
    ),
    Requirement(
        "AWP-5.4",
        CONTRACTS,
        "must",
        "The well-known manifest has the content type application/json; charset=utf-8.",
    ),
    Requirement(
        "AWP-5.5",
        CONTRACTS,
        "must",
        "The well-known manifest has Cache-Control: public, max-age=3600.",
    ),
    Requirement(
        "AWP-5.6",
        CONTRACTS,
        "must",
        "GET /awp/manifest.json answers 200 with the headers of the well-known manifest.",
    ),
    Requirement(
        "AWP-5.7",
        CONTRACTS,
        "must",
        "/awp/manifest.json has the site's capabilities and a map of all its content.",
    ),
    Requirement(
        "AWP-5.8",
        CONTRACTS,
        "must",
        "/awp/content/summary.md has the content type text/markdown; charset=utf-8.",
    ),
    Requirement(
        "AWP-5.9",
        CONTRACTS,
        "must",
        "/awp/content/summary.md is a Markdown summary of the site that keeps its budget.",
    ),
    Requirement(
        "AWP-5.10",
        CONTRACTS,
        "must",
        "/awp/content/structure.json has the content type application/json; charset=utf-8.",
    ),
    Requirement(
        "AWP-5.11",
        CONTRACTS,
        "must",
        "/awp/content/structure.json holds the site's navigation and the list of its sections.",
    ),
    Requirement(
        "AWP-5.12",
        CONTRACTS,
        "must",
        "/awp/instructions.md has the content type text/markdown; charset=utf-8.",
    ),
    Requirement(
        "AWP-5.13",
        CONTRACTS,
        "must",
        "/awp/instructions.md tells agents how to use the site and keeps its budget.",
    ),
    Requirement(
        "AWP-6.1",
        VERSIONING,
        "must",
        "The protocol's major number rises when required members or endpoint contracts break.",
        reason="It binds the authors of the protocol; a site serves the one version it was written for.",
    ),
    Requirement(
        "AWP-6.2",
        VERSIONING,
        "must",
        "The protocol's minor number rises when optional members or capabilities are added.",
        reason="It binds the authors of the protocol; that readers bear additions is tested by AWP-6.6.",
    ),
    Requirement(
        "AWP-6.3",
        VERSIONING,
        "must",
        "The protocol's patch number rises for wording only, with the schemas as they were.",
        reason="It binds the authors of the protocol; nothing that a site serves depends on it.",
    ),
    Requirement(
        "AWP-6.4",
        VERSIONING,
        "must",
        'Every manifest, the well-known one and the full one, has version "1.0".',
    ),
    Requirement(
        "AWP-6.5",
        VERSIONING,
        "must",
        "Errors, 304 answers, preflights and unknown paths under /awp/ have X-AWP-Version: 1.0 too.",
    ),
    Requirement(
        "AWP-6.6",
        VERSIONING,
        "should",
        "A reader of manifests works on when it meets members that it does not know.",
    ),
    Requirement(
        "AWP-7.1",
        CHECKLIST,
        "must",
        "The site passes the item on valid JSON at the well-known address, and the report fails it on "
        "anything else there.",
    ),
    Requirement(
        "AWP-7.2",
        CHECKLIST,
        "must",
        "The site passes the item on the exact version, and the report fails it for 1.0 as a number or "
        '"1.0.0".',
    ),
    Requirement(
        "AWP-7.3",
        CHECKLIST,
        "must",
        "The site passes the item on required members, and the report names each one of them that is "
        "missing.",
    ),
    Requirement(
        "AWP-7.4",
        CHECKLIST,
        "must",
        "The site passes the item on token budgets, and the report fails it when any content is above its "
        "own.",
    ),
    Requirement(
        "AWP-7.5",
        CHECKLIST,
        "must",
        "The site passes the item on the version header, and the report fails it when one answer under "
        "/awp/ lacks it.",
    ),
    Requirement(
        "AWP-7.6",
        CHECKLIST,
        "must",
        "The site passes the item on CORS, and the report fails it when one AWP endpoint does not allow "
        "every origin.",
    ),
    Requirement(
        "AWP-7.7",
        CHECKLIST,
        "should",
        "The site passes the item on a summary within its budget, and the report warns when it is absent or "
        "too long.",
    ),
    Requirement(
        "AWP-7.8",
        CHECKLIST,
        "should",
        "The site passes the item on the structure document, and the report warns when it is absent.",
    ),
    Requirement(
        "AWP-7.9",
        CHECKLIST,
        "should",
        "The site passes the item on agent instructions, and the report warns when they are absent.",
    ),
    Requirement(
        "AWP-7.10",
        CHECKLIST,
        "should",
        "The site serves /llms.txt and passes the item on it, and the report warns when it is absent.",
    ),
    Requirement(
        "AWP-7.11",
        CHECKLIST,
        "should",
        "The site passes the item on endpoints.content, and the report warns when the manifest lacks it.",
    ),
    Requirement(
        "AWP-7.12",
        CHECKLIST,
        "should",
        "The site passes the item on a fresh updated_at, and the report warns when it is older than 30 days.",
    ),
    Requirement(
        "AWP-7.13",
        CHECKLIST,
        "should",
        "The site declares authentication even when none is required, and the report warns when it is not "
        "declared.",
    ),
    Requirement(
        "AWP-7.14",
        CHECKLIST,
        "should",
        "The site declares rate_limits, and the report warns when they are not declared.",
    ),
    Requirement(
        "AWP-7.15",
        CHECKLIST,
        "may",
        "One command checks a whole site against the checklist and gives for each fault its place and its "
        "fix.",
    ),
)
