"""Mistakes that others made public (AGENT_ACTIONS section 15), and the tests that show what is right here.

``reports`` are the public reports. Each of ``tests`` is a node id without parameters; together they show all of
``right``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Mistake:
    number: int
    mistake: str
    right: str
    reports: tuple[str, ...]
    tests: tuple[str, ...]


_GITHUB: Final = "https://github.com/"


def _row(number: int, mistake: str, right: str, reports: str, *tests: str) -> Mistake:
    found = tuple(f"{_GITHUB}{report}" for report in reports.split())
    return Mistake(number, mistake, right, found, tuple(f"tests/{test}" for test in tests))


MISTAKES: Final = (
    _row(
        1,
        "An agent that repeats a call pays twice.",
        "The key belongs to the intent and is on the disk before anything is sent; one charge, one receipt.",
        "stripe/ai/issues/402 square/square-mcp-server/issues/31 x402-foundation/x402/issues/808",
        "client/test_repeating.py::test_key_and_input_are_on_the_disk_before_the_site_sees_the_call",
        "client/test_repeating.py::test_agent_killed_while_it_waits_finds_its_call_again",
        "client/test_repeating.py::test_lost_answer_is_asked_for_again_and_acts_once",
        "client/approvals/test_asking.py::test_asking_confirming_and_a_lost_answer_are_one_intent",
        "ledger/test_payment_races.py::test_the_same_call_of_many_processes_is_paid_once",
        "client/test_real_site.py::test_lost_answer_of_a_payment_is_one_charge_and_one_receipt",
    ),
    _row(
        2,
        "Concurrent requests all pass the check of a budget.",
        "One conditional UPDATE: of any number of parallel charges exactly floor(total/amount) are accepted.",
        "BerriAI/litellm/issues/34732 weave-os/router/issues/793",
        "ledger/test_races.py::test_eight_processes_spend_exactly_what_the_mandate_allows",
        "ledger/test_races.py::test_siblings_under_one_parent_never_spend_more_than_the_parent_has",
    ),
    _row(
        3,
        "Checking and recording are locked each by itself.",
        "Reserving, settling and releasing are one life of one payment.",
        "Floe-Labs/floe-guard/pull/20",
        "ledger/test_payment_races.py::test_payments_come_to_exactly_what_the_mandate_allows",
        "ledger/test_payment_races.py::test_a_sweep_and_the_call_itself_never_both_have_a_payment",
        "invoke/test_paying.py::test_a_mandate_is_asked_before_the_provider",
        "invoke/test_paying.py::test_a_declined_payment_gives_the_reservation_back_and_is_the_answer",
        "ledger/test_settling.py::test_silence_never_releases_what_was_reserved",
    ),
    _row(
        4,
        "Two refunds of 60 of a payment of 100 both go through.",
        "The second gets 422 refund_exceeds_charge with remaining 40.00, in sequence and in a race.",
        "juspay/hyperswitch/issues/13182 fossasia/eventyay/issues/1405",
        "agent_actions/test_refunds.py::test_two_refunds_of_60_of_a_charge_of_100_are_one",
        "ledger/test_payment_races.py::test_refunds_of_60_of_a_charge_of_100_are_one",
    ),
    _row(
        5,
        "A negative refund passes.",
        "An amount is above zero in the parser, in the statement and in the table.",
        "juspay/hyperswitch/pull/11491",
        "agent_actions/test_refunds.py::test_an_amount_that_is_none_is_refused",
        "agent_actions/test_known_mistakes.py::test_a_negative_refund_passes_neither_the_statement_nor_the_table",
    ),
    _row(
        6,
        "A revoked token works until a cache ends.",
        "There is no cache: the next request is 401, in every process.",
        "DuendeArchive/IdentityModel.AspNetCore.OAuth2Introspection/issues/45 "
        "django-oauth/django-oauth-toolkit/issues/970",
        "access/test_signatures.py::test_a_revoked_grant_is_refused_at_the_very_next_request",
        "access/test_authority_races.py::test_nothing_is_spent_under_a_child_once_its_root_was_revoked_over_http",
        "access/test_authority_races.py::test_nothing_is_spent_once_a_session_was_ended",
        "ledger/test_charges.py::test_a_revoked_mandate_pays_nothing_even_when_the_caller_passed_the_door",
    ),
    _row(
        7,
        "Revoking the parent leaves what was handed on alive.",
        "Every member and every key of the whole chain is checked.",
        "highflame-ai/zeroid/issues/50",
        "access/test_signatures.py::test_one_revoked_member_or_key_ends_the_whole_chain",
        "access/test_revocations.py::test_a_grant_takes_everything_below_it_along",
    ),
    _row(
        8,
        "A scope that is a prefix of another opens that, too.",
        "Scopes match by segment: cart:* does not cover cartel:write.",
        "plur-ai/plur/issues/383",
        "wire/test_scopes.py::test_pattern_covers_whole_segments_only",
        "agent_actions/test_known_mistakes.py::test_a_grant_for_a_cart_opens_no_cartel",
    ),
    _row(
        9,
        "A key that is used with another body returns the old answer, or 409 while the first is running.",
        "422 idempotency_key_reused, tested before whether the first is running.",
        "josipmusa/idempotency4j/issues/12 idempot-dev/idempot-js/pull/191",
        "invoke/test_door.py::test_a_key_used_for_another_input_is_refused_also_while_the_first_is_running",
        "agent_actions/test_known_mistakes.py::test_a_key_with_another_body_is_422_over_http",
    ),
    _row(
        10,
        "A crash blocks the key for a day, and a 500 is kept as the answer.",
        "The lease is short, no 5xx is kept, and what was done commits together with its record.",
        "pathosDev/actor-ts/issues/984",
        "invoke/test_door.py::test_a_crash_takes_back_everything_frees_the_key_and_says_nothing_internal",
        "invoke/test_door.py::test_a_passing_outage_of_the_database_is_503_and_frees_the_key",
        "invoke/test_door.py::test_a_write_commits_with_its_audit_row_and_its_kept_answer",
        "ledger/test_races.py::test_a_slow_owner_who_was_overtaken_after_its_lease_does_not_act",
        "ledger/test_payment_crashes.py::test_a_call_that_comes_back_after_a_crash_has_paid_once",
    ),
    _row(
        11,
        "Yen are charged a hundredfold; budgets are floats.",
        "A table of exponents, exact decimals, and a float is refused.",
        "cartalyst/stripe/issues/59 majiayu000/litellm-rs/issues/711",
        "wire/test_money.py::test_every_refusal_has_its_reason",
        "wire/test_money.py::test_all_two_decimal_budgets_up_to_a_thousand_are_exact",
        "ledger/test_charges.py::test_what_only_the_site_can_get_wrong_is_a_crash_in_its_log_and_no_refusal",
        "agent_actions/test_known_mistakes.py::test_a_thousand_yen_are_a_thousand_yen_at_both_ends",
    ),
    _row(
        12,
        "A $ref to an address is fetched by whoever reads the schema.",
        "A remote reference is refused, as manifest_invalid where it stands in a manifest, and nothing is requested.",
        "PrefectHQ/prefect/pull/22252 PrefectHQ/fastmcp/pull/3502",
        "wire/test_schema_limits.py::test_a_remote_reference_is_refused_and_nothing_is_requested",
        "agent_actions/openapi/test_importing.py"
        "::test_references_out_of_the_document_are_errors_and_nothing_is_fetched",
    ),
    _row(
        13,
        "Only the first problem of an input is told.",
        "All problems are told at once, sorted.",
        "ajv-validator/ajv/issues/870 python-openapi/openapi-core/issues/108",
        "wire/test_schema_problems.py::test_every_problem_is_listed_at_once_sorted_by_pointer_and_code",
        "invoke/test_door.py::test_every_problem_of_the_input_is_listed_and_the_handler_does_not_run",
    ),
    _row(
        14,
        "A slash or tilde in a name is not escaped in the path of an error, or where none belongs.",
        "An RFC 6901 pointer that resolves to the very value.",
        "sinclairzx81/typebox/issues/1694 Stranger6667/jsonschema/issues/788",
        "wire/test_schema_problems.py::test_pointers_are_escaped_and_resolve_to_the_very_value",
        "wire/test_schema_pointers.py::test_a_pointer_leads_to_the_value_or_to_the_one_member_that_is_missing",
    ),
    _row(
        15,
        "What oneOf says of a wrong input helps nobody.",
        "The branch that was meant is reported, by its discriminator.",
        "python-jsonschema/jsonschema/issues/646 networknt/json-schema-validator/issues/1090",
        "wire/test_schema_problems.py::test_one_of_blames_the_branch_that_the_discriminator_chose",
        "wire/test_schema_pointers.py::test_of_alternatives_the_one_that_was_meant_is_reported",
    ),
    _row(
        16,
        "A voucher for one use is used twice.",
        "An agreement is used up in the transaction of its charge: of any number of charges one gets it.",
        "django-oscar/django-oscar/pull/4612 shopware/shopware/issues/11245",
        "ledger/test_agreement_races.py::test_one_of_eight_processes_uses_an_agreement_up",
        "ledger/test_agreements.py::test_a_handler_that_fails_after_its_charge_gives_the_agreement_back",
    ),
    _row(
        17,
        "A nonce is stored before its signature was verified, or in one worker alone; a slow body outlives the window.",
        "Nonces are in the database, taken after the verification, and freshness is looked at twice.",
        "nuetzliches/hookaido/pull/220 mathiasertl/django-ca/issues/141 "
        "microsoft/agent-governance-toolkit/pull/3782",
        "access/test_signatures.py::test_every_fault_of_a_signature_has_its_reason_and_writes_nothing",
        "access/test_races.py::test_a_signed_request_sent_to_every_process_is_accepted_once",
        "access/test_signatures.py::test_a_signature_that_ends_while_the_body_arrives_is_refused",
    ),
    _row(
        18,
        "Whoever sends enough nonces makes the store forget the older ones.",
        "A nonce goes when it has expired and not before; without the store nothing is accepted.",
        "coproduct-opensource/nucleus/pull/2375",
        "agent_actions/test_known_mistakes.py::test_no_flood_of_nonces_makes_room_for_an_old_one",
        "management/test_clear_expired.py::test_a_replay_is_refused_for_as_long_as_its_signature_could_pass",
        "access/test_signatures.py::test_a_failing_store_refuses_and_accepts_nothing",
    ),
    _row(
        19,
        "Two integers have one canonical form, so that one signature holds for both; Python and JavaScript differ.",
        "No integer of 2^53 or more stands in a signed document, and amounts are texts.",
        "agentrust-io/trace-spec/pull/219 jagmarques/asqav-sdk/pull/453",
        "wire/test_strict_json.py::test_any_other_large_integer_is_refused_in_signed_documents",
        "wire/aim/test_envelope.py::test_two_integers_that_are_accepted_never_have_one_canonical_form",
        "wire/aim/test_envelope.py::test_node_writes_the_same_canonical_forms",
        "wire/test_receipts.py::test_malformed_receipt_is_refused_even_when_signed",
    ),
    _row(
        20,
        "An integer that one step answered is sent to the next one as a text.",
        "A reference is a whole text, and stands for the value with its type.",
        "stepci/stepci/issues/131 desplega-ai/agent-swarm/pull/798",
        "wire/test_references.py::test_reference_becomes_the_value_with_its_type",
        "wire/test_references.py::test_boolean_and_number_and_text_stay_apart",
        "client/flows/test_running.py::test_the_steps_run_one_after_the_other_with_types_kept",
    ),
    _row(
        21,
        "What runs is not what was approved, or runs without.",
        "An approval is bound to the digest of the call and good once.",
        "anthropics/claude-cookbooks/issues/701 UKGovernmentBEIS/inspect_ai/pull/4944",
        "client/approvals/test_asking.py::test_82_that_was_approved_does_not_approve_820",
        "client/approvals/test_asking.py::test_a_first_call_with_confirm_still_asks",
        "client/approvals/test_asking.py::test_nothing_is_sent_before_the_person_approved_and_then_exactly_that",
        "client/approvals/test_asking.py::test_two_processes_that_confirm_at_once_are_one_call",
        "access/test_approvals.py::test_the_digest_is_bound_to_its_purpose_and_to_every_part_of_the_call",
        "access/test_approval_races.py::test_eight_processes_that_call_after_one_approval_act_once",
    ),
    _row(
        22,
        "An id of the path and one of the body overwrite each other; a body that is no object and the parameters of a "
        "path are dropped.",
        "Each has an input of its own, and the parameters of a path hold for every operation.",
        "tadata-org/fastapi_mcp/issues/319 doitintl/doit-mcp-server/pull/225",
        "agent_actions/openapi/test_importing.py::test_one_name_in_path_query_and_body_becomes_three_inputs",
        "agent_actions/openapi/test_importing.py::test_a_body_that_is_no_object_is_the_member_body",
        "agent_actions/openapi/test_importing.py"
        "::test_parameters_of_the_path_hold_for_every_operation_and_the_operation_s_own_win",
        "agent_actions/openapi/test_calling.py::test_what_belongs_into_the_query_goes_there_under_its_own_name",
        "agent_actions/openapi/test_calling.py::test_a_body_that_is_no_object_is_sent_as_it_is",
    ),
    _row(
        23,
        "A traceback stands in the error.",
        "handler_error with a request_id, under DEBUG too.",
        "senaite/senaite.core/pull/2998",
        "http/test_life_of_a_request.py::test_debug_changes_nothing_about_a_crash",
        "invoke/test_door.py::test_a_crash_takes_back_everything_frees_the_key_and_says_nothing_internal",
    ),
    _row(
        24,
        "A regular expression in a foreign schema hangs the server.",
        "Patterns are limited in shape and length, and in the time that they may take.",
        "Aiven-Open/karapace/issues/1362",
        "wire/test_schema_patterns.py::test_a_pattern_that_takes_exponential_time_is_a_problem_and_not_a_hang",
        "wire/test_schema_patterns.py::test_shapes_that_may_take_exponential_time_are_refused_in_foreign_schemas",
        "wire/test_schema_patterns.py::test_a_foreign_pattern_has_at_most_200_characters",
        "client/test_manifest.py::test_foreign_patterns_that_explode_are_refused",
    ),
    _row(
        25,
        "SQLite locks no row for select_for_update, and refuses the first write of a transaction that has read.",
        "Every transaction begins with a write, and a check advises IMMEDIATE.",
        "RealOrangeOne/django-tasks/issues/33 learningequality/kolibri/pull/13878",
        "access/test_database.py::test_a_transaction_begins_with_a_write_where_begin_takes_nothing",
        "access/test_checks.py::test_w030_sqlite_without_immediate_transactions",
        "ledger/test_races.py::test_charge_then_stock_does_not_deadlock_with_stock_then_charge",
    ),
    _row(
        26,
        "A budget for many merchants can be enforced by none of them.",
        "A grant is for one site, and no other takes it.",
        "google-agentic-commerce/AP2/issues/207",
        "access/test_signatures.py::test_a_grant_for_another_site_is_refused",
        "agent_actions/test_known_mistakes.py::test_a_grant_names_exactly_one_site",
    ),
)
