"""What is promised of renders, uses and feedback on them, and the tests that show each promise.

A test of the table keeps every name in it alive: `tests/architecture/test_statements.py`.
"""

from __future__ import annotations

BIND = "feedback/test_bind.py"
RACES = "feedback/test_bind_races.py"
FEEDBACK = "feedback/test_use_feedback.py"
PURGE = "feedback/test_use_purge.py"
API = "feedback/test_api_uses.py"
CLIENT = "feedback/test_client.py"
SENDING = "feedback/test_client_sending.py"
TELEMETRY = "feedback/test_client_telemetry.py"
ROUTING = "feedback/test_routing.py"
TURN = "feedback/test_turn_recipe.py"
DESK = "feedback/test_signals_admin.py"
TYPED = "feedback/test_typed_feedback_admin.py"
RULES = "learning/test_catalog_rules.py"
CATALOG = "learning/test_apply_catalog.py"
RECORDS = "learning/test_records.py"
SHIPPED = "learning/test_shipped_package.py"
RENDER = "learning/test_render.py"
BLOCKS = "learning/test_render_blocks.py"
TARGET = "learning/test_render_target.py"
PARAMETERS = "learning/test_render_parameters.py"
RECIPE_TURNS = "feedback/test_turn_recipe.py"
ODD = "feedback/test_breaking.py"
BULK = "feedback/test_bulk_routing.py"
ERASED = "feedback/test_erased_signals.py"
CITED = "learning/test_citations.py"
VERIFIED = "learning/test_verify.py"
QUERIES = "feedback/test_queries.py"
ORDER = "learning/test_order.py"
WALKS = "artifacts/test_api_input.py"

# Statement → tests, each as `file::test`.
STATEMENTS: dict[str, tuple[str, ...]] = {
    # What a use is
    "Binding renders the recipe, resolves what should learn, and answers with a short id.": (
        f"{BIND}::test_a_bind_gives_the_text_and_a_short_id",
        f"{BIND}::test_the_target_names_the_heads_of_one_promotion",
    ),
    "A use has no place for prompt, response, tool call, token count, span or parameters.": (
        f"{BIND}::test_the_row_has_identity_and_hashes_and_room_for_nothing_else",
        f"{BIND}::test_neither_text_nor_parameters_are_kept_anywhere",
    ),
    "Binding creates no record, however often.": (
        f"{BIND}::test_a_thousand_binds_leave_the_records_as_they_were",
    ),
    "A handle alone, a handle with a signal, and a signal that cites a snapshot all work.": (
        f"{API}::test_the_whole_loop",
        f"{FEEDBACK}::test_with_a_snapshot_it_cites_the_snapshot",
    ),
    "Binding locks no workspace, and its statements do not grow with rows.": (
        f"{BIND}::test_a_bind_locks_no_workspace_and_inserts_once",
        f"{BIND}::test_a_bind_costs_the_same_statements_at_any_number_of_rows",
        f"{RACES}::test_a_bind_waits_for_nobody_who_writes",
        f"{BLOCKS}::test_all_documents_are_read_in_one_statement",
    ),
    "The handle is frozen, has every attribute, and says None where there is nothing.": (
        f"{BIND}::test_the_handle_cannot_be_changed_and_travels_as_json",
        f"{API}::test_the_payload_is_described_as_it_is",
    ),
    "The hash is of exactly the bytes of the text; equal input gives equal hashes.": (
        f"{RENDER}::test_the_hash_is_of_exactly_the_bytes_of_the_content",
        f"{RENDER}::test_equal_input_gives_equal_bytes_and_manifest",
        f"{BIND}::test_the_same_input_renders_to_the_same_hash_under_another_id",
    ),
    "A block that was cut is told at bind, on the use, and in the manifest.": (
        f"{BIND}::test_a_cut_block_is_told_at_bind_and_on_the_use",
        f"{RENDER}::test_a_block_is_cut_between_rows_and_says_so",
        f"{BLOCKS}::test_no_render_reads_more_rows_than_the_limit",
    ),
    "A render that fails, or parameters that are wrong, bind nothing.": (
        f"{BIND}::test_a_render_that_fails_binds_nothing",
        f"{BIND}::test_what_is_refused_binds_nothing",
        f"{PARAMETERS}::test_a_value_of_another_type_is_refused",
    ),
    "Reading a use gives identity, target, snapshot, times and expiry, and never text.": (
        f"{API}::test_the_whole_loop",
        f"{API}::test_a_use_id_is_no_credential",
    ),
    "A retry under one key is one use with one text; where that cannot be, it says so.": (
        f"{BIND}::test_a_repeated_key_gives_the_first_use_with_its_text",
        f"{BIND}::test_a_retry_whose_text_cannot_be_made_again_says_so",
        f"{BIND}::test_a_retry_with_a_snapshot_gives_its_text_whatever_has_changed",
        f"{RACES}::test_one_key_sent_many_times_at_once_is_one_use",
        f"{API}::test_a_repeated_key_is_one_use",
    ),
    # Rendered text
    "What is bound never executes: places and markup in content stay text.": (
        f"{RENDER}::test_places_in_values_and_rows_are_text",
        f"{RENDER}::test_no_value_and_no_row_brings_markup_of_its_own",
    ),
    "A required block fails when it cannot be read, when nothing fits, or as an empty view.": (
        f"{RENDER}::test_a_required_block_without_anything_to_show_refuses",
        f"{RENDER}::test_a_required_block_whose_first_row_does_not_fit_refuses",
        f"{RENDER}::test_a_required_document_that_found_nothing_renders_empty_and_is_told",
        f"{BLOCKS}::test_a_view_that_cannot_be_read_fails_its_block",
    ),
    "One head is in force at each address; drafts and history render only where asked for.": (
        f"{BLOCKS}::test_older_and_archived_versions_are_not_in_force",
        f"{BLOCKS}::test_a_draft_never_renders_as_a_value_in_force",
        f"{BLOCKS}::test_a_block_of_drafts_shows_what_is_pending_newest_first",
        f"{BLOCKS}::test_a_block_of_all_shows_history_too_newest_first",
    ),
    # What should learn
    "Heads named are those whose text was rendered, also beside promotions.": (
        f"{RACES}::test_heads_named_are_those_rendered_though_a_promotion_commits_in_between",
        f"{RACES}::test_every_use_beside_many_promotions_names_one_that_was_whole",
        f"{TARGET}::test_only_heads_that_are_shown_are_named",
    ),
    "One run of all heads is the base; several runs have none, and all heads stay.": (
        f"{TARGET}::test_it_names_recipe_entity_block_and_every_head",
        f"{TARGET}::test_without_a_shared_run_there_is_no_base_and_all_heads_stay",
        f"{BIND}::test_heads_of_several_runs_have_no_base",
    ),
    "Without a head the target is null and the bind succeeds.": (
        f"{BIND}::test_without_a_head_the_bind_succeeds_without_a_target",
    ),
    "Without declared learning the target is null and feedback goes to the recipe itself.": (
        f"{BIND}::test_a_recipe_that_declares_no_learning_has_no_target",
        f"{FEEDBACK}::test_without_a_target_it_joins_the_backlog_of_what_rendered",
    ),
    "An older use keeps its heads and its version, after any later promotion or apply.": (
        f"{BIND}::test_an_older_use_keeps_the_heads_it_ran_on",
        f"{BIND}::test_a_use_names_the_version_that_rendered",
        f"{FEEDBACK}::test_an_older_use_speaks_of_its_own_heads",
    ),
    # What may be said
    "The use id and the feedback are all that is needed.": (f"{API}::test_the_whole_loop",),
    "Kind and source are required and of the known ones; every bound is refused by its name.": (
        f"{FEEDBACK}::test_what_is_out_of_bounds_is_refused_by_name",
        f"{FEEDBACK}::test_what_is_just_within_bounds_is_taken",
        f"{API}::test_feedback_takes_no_column",
    ),
    "Evidence is stripped, dropped when blank, and cut at its bound.": (
        f"{FEEDBACK}::test_evidence_is_stripped_and_dropped_when_blank",
        f"{FEEDBACK}::test_long_evidence_is_cut_and_taken",
    ),
    "The kind is the record's type; no kind asks for other fields.": (
        f"{FEEDBACK}::test_the_kind_is_the_records_type",
    ),
    "No source counts more than another.": (
        f"{FEEDBACK}::test_nothing_orders_or_counts_by_source",
    ),
    # The record
    "A signal is one ordinary record of exactly this content, text, entity and type.": (
        f"{FEEDBACK}::test_the_record_is_exactly_this",
        f"{FEEDBACK}::test_everything_that_can_be_said",
    ),
    "Its text is deterministic, a header and a line for each piece of evidence.": (
        f"{FEEDBACK}::test_equal_feedback_gives_equal_text",
        f"{FEEDBACK}::test_each_piece_of_evidence_has_one_line",
    ),
    "What was not said is left out; snapshot and target are null where there is none.": (
        f"{FEEDBACK}::test_what_was_not_said_is_left_out_and_what_there_is_none_of_is_null",
    ),
    "Signals of all subjects share one backlog, can be narrowed, and tell their subject.": (
        f"{FEEDBACK}::test_signals_of_all_subjects_share_one_backlog_and_tell_their_subject",
    ),
    "A signal is ready and searchable at its commit.": (
        f"{FEEDBACK}::test_a_signal_is_ready_at_its_commit",
    ),
    "The same key and payload is the first record again, also from parallel senders.": (
        f"{FEEDBACK}::test_the_same_again_is_the_first_record",
        f"{FEEDBACK}::test_the_same_again_from_many_senders_is_one_record",
        f"{FEEDBACK}::test_without_a_key_the_same_again_is_another_record",
    ),
    "The same key with another payload is a conflict, and keys are their use's own.": (
        f"{FEEDBACK}::test_another_payload_under_the_key_is_a_conflict",
        f"{FEEDBACK}::test_a_key_is_its_uses_own",
    ),
    # Snapshots
    "A snapshot is of the same render as its use, and refused early where there is no place.": (
        f"{BIND}::test_a_snapshot_is_of_the_same_render",
        f"{BIND}::test_a_snapshot_that_cannot_be_kept_is_refused_before_blocks_are_read",
    ),
    "A snapshot outlives its sources; none is made afterwards.": (
        f"{BIND}::test_a_snapshot_outlives_what_it_was_made_from",
        f"{BIND}::test_a_key_is_not_taken_for_another_request",
    ),
    # Expiry
    "A use ends after the days of the setting; lowering ends at once, raising revives none.": (
        f"{BIND}::test_a_use_expires_after_the_days_of_the_setting",
        f"{BIND}::test_lowering_the_window_ends_uses_at_once_and_raising_it_revives_none",
        f"{BIND}::test_a_use_may_be_kept_for_ever",
        f"{PURGE}::test_lowering_the_window_purges_on_the_next_pass",
    ),
    "An expired use takes nothing more, says that it expired, and is then gone.": (
        f"{FEEDBACK}::test_an_expired_use_takes_nothing_more",
        f"{API}::test_the_order_of_404_410_422_and_dedupe",
    ),
    "A pass deletes one page; a full one asks for the next, a short one waits.": (
        f"{PURGE}::test_a_pass_deletes_one_page_and_says_whether_it_was_full",
        f"{PURGE}::test_a_full_page_asks_for_the_next_and_a_short_one_waits",
        f"{PURGE}::test_the_task_is_periodic_and_drains_a_backlog_by_itself",
        f"{PURGE}::test_what_somebody_holds_is_left_to_the_next_pass",
    ),
    "Signals and snapshots outlive their use.": (
        f"{PURGE}::test_signals_and_snapshots_outlive_their_use",
    ),
    # What surrounds them
    "Feedback on a message is about the text it was said on, and found by an index.": (
        f"{RECIPE_TURNS}::test_a_message_is_judged_by_the_text_it_was_said_on",
        f"{RECIPE_TURNS}::test_a_message_is_found_by_its_index_however_many_there_are",
    ),
    "Many signals are made evidence at once, each told of, each citing its signal.": (
        f"{BULK}::test_the_page_asks_for_all_of_them_and_writes_each",
        f"{BULK}::test_one_line_for_each_that_cannot_be_written",
        f"{BULK}::test_who_may_not_route_is_not_offered_it",
    ),
    "An erased signal says so in every place that lists or shows it.": (
        f"{ERASED}::test_its_page_says_so_and_offers_no_evidence",
        f"{ERASED}::test_the_list_and_its_chart_hold_it",
        f"{ERASED}::test_the_use_still_lists_it",
        f"{ERASED}::test_rest_says_so",
    ),
    "What an agent's proposed value cites reaches the record of the accepted one.": (
        f"{CITED}::test_what_was_cited_is_said_by_the_record_of_the_accepted_value",
        f"{CITED}::test_an_edited_accept_keeps_them",
        f"{CITED}::test_what_is_left_over_keeps_them_too",
    ),
    "Records, what is in force and definitions are verified, and tampering is named.": (
        f"{VERIFIED}::test_tampering_is_named",
        f"{VERIFIED}::test_what_was_only_written_through_the_door_is_whole",
    ),
    "Lists and pages ask the same statements at any size, and have one order.": (
        f"{QUERIES}::test_every_list_and_page_asks_the_same_at_any_size",
        f"{QUERIES}::test_every_list_and_page_is_counted",
        f"{ORDER}::test_a_list_by_a_field_goes_by_code_point_or_number_and_then_by_seq",
        f"{ORDER}::test_search_finds_the_same_set_and_gives_one_order",
    ),
    "Catalogs applied at once, or beside binds, are applied whole or refused.": (
        f"{CATALOG}::test_one_catalog_that_many_apply_is_applied_once",
        f"{CATALOG}::test_racing_with_the_same_version_and_other_bodies_keeps_one",
        f"{RACES}::test_a_bind_beside_applies_is_of_one_version_and_its_text",
    ),
    "A bind whose process is killed, and feedback beside a purge, leave nothing half done.": (
        f"{RACES}::test_a_bind_whose_process_is_killed_leaves_nothing_half_done",
        f"{PURGE}::test_feedback_beside_a_purge_is_kept_whole_or_refused",
    ),
    "Odd input is a clear refusal on every route, and stores nothing.": (
        f"{ODD}::test_an_odd_value_in_any_member_is_refused_clearly_or_kept_as_it_is",
        f"{ODD}::test_an_odd_id_or_query_is_refused_clearly",
        f"{ODD}::test_an_id_of_another_kind_is_no_source_no_record_and_no_use",
        f"{WALKS}::test_an_odd_body_is_refused",
        f"{WALKS}::test_no_member_beside_the_declared_ones_is_taken",
    ),
    # Errors
    "Without a credential every route is 401, and a use id opens nothing.": (
        f"{API}::test_401_without_a_credential",
        f"{API}::test_a_use_id_is_no_credential",
    ),
    "A foreign use and an unknown one are the same 404, apart from the id.": (
        f"{API}::test_404_is_the_same_for_an_unknown_and_a_foreign_use",
        f"{FEEDBACK}::test_unknown_foreign_and_purged_uses_are_the_same_refusal",
    ),
    "Each error of the table has its status and code, in this order.": (
        f"{API}::test_404_for_a_recipe_that_is_not_there",
        f"{API}::test_422_for_what_is_no_uses_id",
        f"{API}::test_the_order_of_404_410_422_and_dedupe",
        f"{API}::test_422_of_parameters_and_snapshots",
        f"{API}::test_422_where_the_catalog_has_no_signals",
        f"{API}::test_403_for_a_role_that_may_not",
    ),
    "An error leaves nothing behind: no record, no use, no number.": (
        f"{API}::test_the_order_of_404_410_422_and_dedupe",
        f"{API}::test_422_of_parameters_and_snapshots",
        f"{BIND}::test_what_is_refused_binds_nothing",
    ),
    # The catalog
    "Each rule of what learns has words of its own, and all problems are told at once.": (
        f"{RULES}::test_what_learns_names_an_exact_base",
        f"{RULES}::test_each_rule_of_learning_has_words_of_its_own",
        f"{RULES}::test_all_problems_of_a_package_are_told_at_once",
        f"{RULES}::test_a_problem_names_its_line",
    ),
    "A recipe is made of blocks with budgets; what the loader does not know is refused.": (
        f"{RULES}::test_each_other_rule",
        f"{RULES}::test_a_wrong_form_is_told_where_it_stands",
        f"{RENDER}::test_no_block_costs_more_than_its_budget",
    ),
    "Recipes have versions and a hash, and a use names those that rendered.": (
        f"{CATALOG}::test_the_hash_is_of_the_canonical_json_without_active",
        f"{CATALOG}::test_a_new_version_takes_the_place_of_the_old_one",
        f"{BIND}::test_a_use_names_the_version_that_rendered",
    ),
    "A view may look at another entity than the subject, made of parameters.": (
        f"{BLOCKS}::test_a_view_selects_by_type_and_declared_fields",
        f"{PARAMETERS}::test_a_view_gets_values_with_their_types",
    ),
    # The client
    "`use()` binds once, marks the spans inside, and touches nothing the caller sends.": (
        f"{CLIENT}::test_a_use_binds_once_and_lets_exceptions_through",
        f"{TELEMETRY}::test_spans_inside_say_which_use_they_belong_to",
        f"{TELEMETRY}::test_two_uses_at_once_do_not_mix",
    ),
    "An exception inside the block passes through, and the use stays valid.": (
        f"{CLIENT}::test_a_use_binds_once_and_lets_exceptions_through",
    ),
    "`bind()` is the same handle without a span; both exist async, sync and in process.": (
        f"{CLIENT}::test_a_bind_gives_a_frozen_handle_with_the_rendered_text",
        f"{TELEMETRY}::test_a_bind_opens_no_span_of_its_own",
        f"{CLIENT}::test_what_is_refused_has_the_same_code_each_way",
    ),
    "The fluent form has a usual source for each kind, and takes the other fields by name.": (
        f"{CLIENT}::test_the_fluent_form_has_a_usual_source_for_each_kind",
    ),
    "The client ingests records and reads them by id.": (
        f"{CLIENT}::test_records_are_kept_and_read",
        f"{CLIENT}::test_several_records_are_kept_together_or_not_at_all",
    ),
    "The answer to a submission names the record, and whether it was there before.": (
        f"{CLIENT}::test_a_submission_says_its_record_and_whether_it_was_there_before",
    ),
    # Telemetry
    "Span attributes are scalar identities; a snapshot only where there is one.": (
        f"{TELEMETRY}::test_spans_inside_say_which_use_they_belong_to",
        f"{TELEMETRY}::test_a_snapshot_is_named_where_there_is_one",
        f"{TELEMETRY}::test_the_namespace_is_a_setting",
    ),
    "No content is on a span or in baggage.": (
        f"{TELEMETRY}::test_nothing_that_anybody_wrote_is_on_a_span_or_in_baggage",
    ),
    "Without OpenTelemetry it works the same, and feedback needs no trace.": (
        f"{TELEMETRY}::test_without_an_sdk_it_works_the_same",
        f"{SENDING}::test_it_needs_httpx_and_no_django",
    ),
    "`execution_refs` are kept as given, and are no provenance.": (
        f"{FEEDBACK}::test_everything_that_can_be_said",
        f"{FEEDBACK}::test_what_is_out_of_bounds_is_refused_by_name",
    ),
    # From signals on
    "A signal's declared fields narrow and sort it.": (
        f"{SHIPPED}::test_the_signals_declare_five_fields",
        f"{SHIPPED}::test_a_signal_fits_its_collection_and_is_found_by_it",
        f"{DESK}::test_a_list_is_narrowed_by_what_a_signal_says",
        f"{RECORDS}::test_conditions_on_declared_fields",
    ),
    "A signal is routed by a person or the host's policy, once, and cites itself.": (
        f"{ROUTING}::test_a_signal_becomes_evidence_on_its_subject",
        f"{ROUTING}::test_it_is_routed_once",
        f"{ROUTING}::test_the_evidence_key_is_made_of_the_signals_id",
        f"{ROUTING}::test_nothing_is_routed_by_default",
        f"{ROUTING}::test_a_policy_routes_what_it_says_with_the_signal",
    ),
    "From a use and its signals one sees recipe, version, heads, snapshot and what changed.": (
        f"{DESK}::test_a_page_leads_to_the_use_its_values_and_what_changed_since",
        f"{DESK}::test_a_page_tells_a_snapshot_and_a_purged_use",
    ),
    "A use says that a recipe was rendered, and nowhere that a model ran.": (
        f"{BIND}::test_the_row_has_identity_and_hashes_and_room_for_nothing_else",
        f"{API}::test_the_payload_is_described_as_it_is",
    ),
    # Typed feedback
    "A subclass of `Feedback` in `feedback_types.py` is a type, with what it judges.": (
        "feedback/test_types.py::test_thumbs_and_correction_are_found",
        "feedback/test_types.py::test_they_judge_artifacts_and_threads",
        f"{TYPED}::test_a_hosts_type_has_a_control_for_each_field",
    ),
    "A version, thread, turn or message is judged on every surface, as one event.": (
        "e2e/test_live_feedback.py::test_a_verdict_is_one_event_and_one_signal_each_way",
        "e2e/test_demo_feedback.py::test_a_correction_is_sent_with_what_should_have_been_said",
        f"{TYPED}::test_a_version_is_judged_by_the_types_that_may",
    ),
    "A person's and an evaluator's verdict differ in their actor alone.": (
        f"{TURN}::test_an_evaluators_verdict_is_the_same_signal_from_another_source",
    ),
    "Feedback on a turn or message of a recipe is a signal on the use it ran on.": (
        f"{TURN}::test_feedback_on_the_turn_is_a_signal_on_its_use",
        f"{TURN}::test_feedback_on_a_message_is_a_signal_on_the_use_of_its_run",
        f"{TURN}::test_event_and_signal_are_both_written_or_neither",
    ),
}
