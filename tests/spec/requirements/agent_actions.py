"""agent-actions 0.1: the action manifest, serving actions and calling them."""

from __future__ import annotations

from tests.spec.requirement import Requirement

INTRODUCTION = "Site action manifest"
MANIFEST = "Manifest"
ERRORS = "Errors"
DISCOVERY = "Discovery"
RELATION = "Relation to existing work"
SERVING = "Serving actions"
CALLING = "Calling actions"

REQUIREMENTS = (
    Requirement(
        "AA-1.1",
        INTRODUCTION,
        "must",
        "GET /.well-known/agent-actions.json answers with the site's manifest as JSON.",
    ),
    Requirement(
        "AA-1.2",
        INTRODUCTION,
        "must",
        "Every action in the manifest can be carried out by one HTTP call, without opening or submitting "
        "any page.",
    ),
    Requirement(
        "AA-1.3",
        INTRODUCTION,
        "must",
        "Method, path and input of an action come from its declaration alone: other templates or page "
        "addresses change neither the manifest nor the call.",
    ),
    Requirement(
        "AA-2.1",
        MANIFEST,
        "must",
        'The manifest\'s version is "agent-actions/0.1".',
    ),
    Requirement(
        "AA-2.2",
        MANIFEST,
        "must",
        "The manifest's site is the host of the configured origin, whatever Host header the request carried.",
    ),
    Requirement(
        "AA-2.3",
        MANIFEST,
        "must",
        'The manifest\'s auth is an object whose type is "agent-grant".',
    ),
    Requirement(
        "AA-2.4",
        MANIFEST,
        "must",
        "The manifest's actions hold one entry for each published action and none for a hidden one.",
    ),
    Requirement(
        "AA-2.5",
        MANIFEST,
        "must",
        "An action entry has a name that no other entry of the manifest has; declaring a name twice is "
        "refused.",
    ),
    Requirement(
        "AA-2.6",
        MANIFEST,
        "must",
        "An action entry has a description in words that is never empty.",
    ),
    Requirement(
        "AA-2.7",
        MANIFEST,
        "must",
        "An action entry has the method and the path under which the site really answers that action.",
    ),
    Requirement(
        "AA-2.8",
        MANIFEST,
        "must",
        "An action entry names its effect, which is one of read, write, send, spend and delete; any other "
        "word is refused when it is declared.",
    ),
    Requirement(
        "AA-2.9",
        MANIFEST,
        "must",
        "An action that needs a scope names it in its entry; an action without one has no scope member.",
    ),
    Requirement(
        "AA-2.10",
        MANIFEST,
        "must",
        "An action's input is a valid JSON Schema of draft 2020-12; an invalid one is refused when it is "
        "declared.",
    ),
    Requirement(
        "AA-2.11",
        MANIFEST,
        "must",
        "An input that lacks a required member, has a wrong type or lies outside minimum and maximum is "
        "refused; the bounds themselves are accepted.",
    ),
    Requirement(
        "AA-2.12",
        MANIFEST,
        "must",
        "The published schema and the site's own validation agree: what an agent finds valid beforehand the "
        "site finds valid, and the reverse.",
    ),
    Requirement(
        "AA-2.13",
        MANIFEST,
        "must",
        "All problems of one input are reported together, each as an object with a pointer and a code.",
    ),
    Requirement(
        "AA-2.14",
        MANIFEST,
        "must",
        "The client's approval policy decides by the declared effect, so calls that spend or delete can be "
        "held until a person agrees.",
    ),
    Requirement(
        "AA-2.15",
        MANIFEST,
        "must",
        "The manifest's flows list each declared flow with its name and its steps in their declared order.",
    ),
    Requirement(
        "AA-2.16",
        MANIFEST,
        "must",
        'A flow step names an action of the manifest and gives that action\'s input in its member "with".',
    ),
    Requirement(
        "AA-2.17",
        MANIFEST,
        "must",
        "The steps of a flow are carried out one after the other, in the order of the list.",
    ),
    Requirement(
        "AA-2.18",
        MANIFEST,
        "must",
        "A reference $input.x in a step becomes the value of that member of the flow's own input, with its "
        "type.",
    ),
    Requirement(
        "AA-2.19",
        MANIFEST,
        "must",
        "A reference $steps.N.path becomes the value found along that path in the output of step N, counted "
        "from 0, through members and list positions.",
    ),
    Requirement(
        "AA-2.20",
        MANIFEST,
        "must",
        "A step that refers to its own output or to that of a later step is refused before anything is sent.",
    ),
    Requirement(
        "AA-2.21",
        MANIFEST,
        "must",
        "A cost with field and currency in the entry of a spend action names the input member that holds "
        "the amount.",
    ),
    Requirement(
        "AA-2.22",
        MANIFEST,
        "must",
        "A cost with amount and currency in the entry of a spend action fixes what the action costs.",
    ),
    Requirement(
        "AA-2.23",
        MANIFEST,
        "must",
        "The client compares the declared cost with its mandate and sends nothing that the mandate does not "
        "allow.",
    ),
    Requirement(
        "AA-2.24",
        MANIFEST,
        "must",
        "The client shows the declared cost when it asks the person, and does so before anything is sent.",
    ),
    Requirement(
        "AA-2.25",
        MANIFEST,
        "must",
        "The manifest has an endpoints object that the site author did not have to write.",
    ),
    Requirement(
        "AA-2.26",
        MANIFEST,
        "must",
        "Endpoints say where receipts are, and that address answers.",
    ),
    Requirement(
        "AA-2.27",
        MANIFEST,
        "must",
        "Endpoints say where refunds are asked for, and that address answers.",
        planned="money and negotiation",
    ),
    Requirement(
        "AA-2.28",
        MANIFEST,
        "must",
        "Endpoints say where grants are revoked, and that address answers.",
    ),
    Requirement(
        "AA-2.29",
        MANIFEST,
        "must",
        "Endpoints say where prices are negotiated, and that address answers.",
        planned="money and negotiation",
    ),
    Requirement(
        "AA-2.30",
        MANIFEST,
        "must",
        "The example's add_to_cart, declared as an action, gives an entry equal to the example's.",
    ),
    Requirement(
        "AA-2.31",
        MANIFEST,
        "must",
        "The example's buy_product, declared as a flow, is published unchanged and runs from search to "
        "checkout.",
    ),
    Requirement(
        "AA-3.1",
        ERRORS,
        "must",
        "A failed action answers with an object whose member error has a code and a message, and with a "
        "status of 400 or more.",
    ),
    Requirement(
        "AA-3.2",
        ERRORS,
        "must",
        "An error about one input member names that member in field.",
    ),
    Requirement(
        "AA-3.3",
        ERRORS,
        "must",
        "An error that goes away by waiting says in retry_after how many seconds to wait.",
    ),
    Requirement(
        "AA-3.4",
        ERRORS,
        "must",
        "Every code that the site's software sends is in one list of stable codes.",
    ),
    Requirement(
        "AA-4.1",
        DISCOVERY,
        "must",
        "discover_actions loads the manifest of a named site into the index.",
    ),
    Requirement(
        "AA-4.2",
        DISCOVERY,
        "must",
        "find_action searches all loaded manifests with the plain words of a task, such as buying printer "
        "paper.",
    ),
    Requirement(
        "AA-4.3",
        DISCOVERY,
        "must",
        "Each result of find_action names one action and the site that has it.",
    ),
    Requirement(
        "AA-4.4",
        DISCOVERY,
        "may",
        "One index can serve many agents as a common registry of manifests.",
    ),
    Requirement(
        "AA-4.5",
        DISCOVERY,
        "may",
        "The crawler that reads a site's pages also fetches its manifest from the well-known address.",
    ),
    Requirement(
        "AA-5.1",
        RELATION,
        "must",
        "An action's input schema serves unchanged as the input schema of an MCP tool.",
        planned="mcp",
    ),
    Requirement(
        "AA-5.2",
        RELATION,
        "may",
        "A site's actions can be offered over MCP as well, from one declaration.",
        planned="mcp",
    ),
    Requirement(
        "AA-5.3",
        RELATION,
        "may",
        "A manifest can be made from an OpenAPI file.",
    ),
    Requirement(
        "AA-5.4",
        RELATION,
        "must",
        "When a manifest is made from an OpenAPI file, effects, scopes and flows come from declarations "
        "added to it.",
    ),
    Requirement(
        "AA-6.1",
        SERVING,
        "must",
        "A site author publishes an action with one function and writes no view, route or serializer for it.",
    ),
    Requirement(
        "AA-6.2",
        SERVING,
        "must",
        "The function gets the input as its first argument and a context as its second.",
    ),
    Requirement(
        "AA-6.3",
        SERVING,
        "must",
        "The function never runs with an input that its schema refuses.",
    ),
    Requirement(
        "AA-6.4",
        SERVING,
        "must",
        "What the function returns is the JSON body of the answer.",
    ),
    Requirement(
        "AA-6.5",
        SERVING,
        "must",
        "ctx.agreement gives the caller's negotiated price for the given terms, or nothing when there is "
        "none.",
        planned="money and negotiation",
    ),
    Requirement(
        "AA-6.6",
        SERVING,
        "must",
        "ctx.charge takes an amount, a currency and an item, books them on the caller's mandate and returns "
        "a receipt.",
    ),
    Requirement(
        "AA-6.7",
        SERVING,
        "must",
        "A charge that the caller's mandate does not cover is refused and books nothing.",
    ),
    Requirement(
        "AA-6.8",
        SERVING,
        "must",
        "The receipt of a charge has an id that the function can hand out, and the stored receipt is found "
        "under it.",
    ),
    Requirement(
        "AA-6.9",
        SERVING,
        "may",
        "A site can plug in a merchant that moves the money of a charge.",
        planned="money and negotiation",
    ),
    Requirement(
        "AA-6.10",
        SERVING,
        "must",
        "Method and path of a request decide which function runs, and no other function does.",
    ),
    Requirement(
        "AA-6.11",
        SERVING,
        "must",
        "A refused input is answered with everything that is wrong with it under problems.",
    ),
    Requirement(
        "AA-6.12",
        SERVING,
        "must",
        "An action with a scope is refused without a grant, also when it only reads.",
    ),
    Requirement(
        "AA-6.13",
        SERVING,
        "must",
        "An action that writes, sends, spends or deletes is refused without a grant, also when it has no "
        "scope.",
    ),
    Requirement(
        "AA-6.14",
        SERVING,
        "must",
        "A read without a scope is answered without any grant.",
    ),
    Requirement(
        "AA-6.15",
        SERVING,
        "must",
        "A grant that does not hold the action's scope is refused, and the answer names the scope that is "
        "missing.",
    ),
    Requirement(
        "AA-6.16",
        SERVING,
        "must",
        "An AgentError raised in the function becomes a structured error with the same code, message and "
        "field.",
    ),
    Requirement(
        "AA-6.17",
        SERVING,
        "must",
        "A crash in the function becomes a structured error with no traceback and no exception text, under "
        "DEBUG too.",
    ),
    Requirement(
        "AA-7.1",
        CALLING,
        "must",
        "call_action reads the site's manifest and calls the method and path that it finds there.",
    ),
    Requirement(
        "AA-7.2",
        CALLING,
        "must",
        "call_action validates the input first and sends nothing when it has problems.",
    ),
    Requirement(
        "AA-7.3",
        CALLING,
        "must",
        "Each request that call_action sends under a grant is signed with the agent's key.",
    ),
    Requirement(
        "AA-7.4",
        CALLING,
        "must",
        "Of several grants that hold the action's scope, the client signs with the narrowest.",
    ),
    Requirement(
        "AA-7.5",
        CALLING,
        "must",
        "The client asks the person before it calls an action that spends.",
    ),
    Requirement(
        "AA-7.6",
        CALLING,
        "must",
        "The client asks the person before it calls an action that sends.",
    ),
    Requirement(
        "AA-7.7",
        CALLING,
        "must",
        "The client asks the person before it calls an action that deletes.",
    ),
    Requirement(
        "AA-7.8",
        CALLING,
        "must",
        "A call that waits for the person returns needs_human, and the site sees no request.",
    ),
    Requirement(
        "AA-7.9",
        CALLING,
        "must",
        "The same call repeated with confirm=true after the person agreed is sent.",
    ),
    Requirement(
        "AA-7.10",
        CALLING,
        "must",
        "run_flow reads the manifest, validates, signs narrowly and asks the person for each step as "
        "call_action does.",
    ),
    Requirement(
        "AA-7.11",
        CALLING,
        "must",
        "The error of a failed flow says which step failed.",
    ),
    Requirement(
        "AA-7.12",
        CALLING,
        "must",
        "The error of a failed flow holds the outputs of the steps that were done before.",
    ),
    Requirement(
        "AA-7.13",
        CALLING,
        "must",
        "call_action and run_flow are also MCP tools with these names.",
    ),
    Requirement(
        "AA-7.14",
        CALLING,
        "must",
        "A manifest that an agent meets is kept in the common index.",
    ),
    Requirement(
        "AA-7.15",
        CALLING,
        "must",
        "A manifest that the crawler meets is kept in the common index.",
    ),
    Requirement(
        "AA-7.16",
        CALLING,
        "must",
        "One agent's find_action also finds sites that only another agent has met.",
    ),
)
