"""What is promised of renders, uses and feedback on them, and the tests that show each promise.

A test of the table keeps every name in it alive: `tests/feedback/test_statements.py`.
"""

from __future__ import annotations

BIND = "feedback/test_bind.py"
RACES = "feedback/test_bind_races.py"
FEEDBACK = "feedback/test_use_feedback.py"
PURGE = "feedback/test_use_purge.py"
API = "feedback/test_api_uses.py"
RENDER = "learning/test_render.py"
BLOCKS = "learning/test_render_blocks.py"
TARGET = "learning/test_render_target.py"
PARAMETERS = "learning/test_render_parameters.py"

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
}
