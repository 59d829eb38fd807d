"""What is promised of agents and their turns, and the tests that show each promise.

A test of the table keeps every name in it alive: `tests/architecture/test_statements.py`.
"""

from __future__ import annotations

ADMIN = "threads/test_admin_answers.py"
AGENTS = "threads/test_agents.py"
API = "threads/test_api.py"
ASKING = "threads/test_asking.py"
BAD = "threads/test_bad_models.py"
CANCELLING = "threads/test_cancelling.py"
CHAT = "threads/test_chat.py"
CHECKS = "threads/test_checks.py"
DECIDES = "threads/test_no_agent_decides.py"
DOCPLAN = "threads/test_docplan.py"
DOOR = "threads/test_door.py"
FAILURES = "threads/test_failures.py"
FOCUS = "threads/test_focus.py"
FORWARD = "threads/test_forward.py"
HISTORY = "threads/test_history.py"
LEASES = "threads/test_leases.py"
NOTES = "threads/test_notes.py"
OWN = "threads/test_own.py"
PAUSES = "threads/test_pauses.py"
RETRIES = "threads/test_retries.py"
SCRIPTS = "threads/test_turn_scripts.py"
SPANS = "threads/test_turn_spans.py"
STEERING = "threads/test_steering.py"
STOPPING = "threads/test_stopping.py"
STOPS = "threads/test_stops.py"
TOOLS = "threads/test_tools.py"
TURNS = "threads/test_turns.py"
TYPING = "threads/test_chat_typing.py"
UNSTREAMED = "threads/test_unstreamed.py"
CLAIMS = "artifacts/test_workspace_leases.py"
EXECUTOR = "artifacts/test_executor.py"
LIVE_AGENT = "e2e/test_live_agent.py"
LIVE_RUNS = "e2e/test_live_runs.py"
WORKERS = "e2e/test_workers.py"

# Statement → tests, each as `file::test`.
STATEMENTS: dict[str, tuple[str, ...]] = {
    # The agent and its tools
    "An agent is shown an artifact in its kind's own words, else as its data.": (
        f"{TOOLS}::test_a_kind_is_shown_in_its_own_words_or_as_its_data",
        "core/test_kinds.py::test_without_its_own_words_a_value_is_shown_as_json",
    ),
    "No tool takes raw patches; text is edited by exact passages.": (
        f"{TOOLS}::test_no_tool_takes_raw_patches",
        f"{TOOLS}::test_edit_text_replaces_and_follows",
    ),
    "One capability makes any agent a collaborator, and others work beside it.": (
        f"{OWN}::test_it_leaves_the_log_of_a_turn",
        f"{ASKING}::test_what_is_decided_inside_the_run_pauses_nothing",
    ),
    "A tool commits as the thread's agent in this run, and has the host's own things.": (
        f"{TOOLS}::test_a_tool_sees_the_hosts_own_things_and_commits_as_the_agent",
        f"{OWN}::test_tools_have_the_hosts_things",
    ),
    "A tool's commit gives applied or proposed, and its own words are what the model reads.": (
        f"{DOCPLAN}::test_set_status_proposes_and_knows_its_tasks",
        f"{TOOLS}::test_create_of_a_kind_to_propose_is_a_proposal",
        "docs/test_code_blocks.py::test_python_blocks_run_in_order",
    ),
    "What the generic tools read, create or edit joins the focus, and is told of later.": (
        f"{TOOLS}::test_read_follows",
        f"{TOOLS}::test_create_writes_as_the_agent_and_follows",
        f"{STEERING}::test_a_change_of_what_the_agent_began_to_follow_meanwhile_is_told",
        f"{FOCUS}::test_nothing_is_lost_when_many_follow_at_once",
    ),
    "The generic tools refuse kinds the agent does not work with.": (
        f"{TOOLS}::test_other_kinds_are_refused",
    ),
    "A draft and an application's events are live frames, and never in the log.": (
        f"{FORWARD}::test_drafts_and_an_applications_events_are_frames",
        f"{SCRIPTS}::test_script",
        f"{LIVE_AGENT}::test_the_stream_is_watched_while_it_goes_on_late_comers_included",
    ),
    "Instructions tell what is followed and the mode, fresh for each request.": (
        f"{TOOLS}::test_the_model_is_told_what_it_follows_and_the_mode_afresh",
    ),
    "What the workspace refuses goes back to the model in a form it can repair.": (
        f"{TOOLS}::test_a_conflict_comes_back_with_the_version_in_force",
        f"{TOOLS}::test_a_missing_anchor_comes_back_with_the_text_as_it_is",
        f"{TOOLS}::test_every_problem_of_the_data_comes_back",
        f"{SCRIPTS}::test_script",
    ),
    "No tool decides a proposal or an approval, whatever it sends.": (
        f"{DECIDES}::test_no_command_of_a_tool_decides",
        f"{DECIDES}::test_the_same_from_a_person_is_decided",
        "artifacts/test_api_proposals.py::test_no_agent_decides_by_any_route",
        "artifacts/test_api_proposals.py::test_an_agents_key_never_decides",
        f"{PAUSES}::test_an_agents_message_decides_no_approval",
    ),
    # Turns from Python
    "A host sends a message with one call, and awaits or watches what comes of it.": (
        f"{DOOR}::test_sending_gives_a_handle_to_wait_for",
        f"{DOOR}::test_a_coroutine_awaits_it",
        f"{DOOR}::test_a_run_is_watched_until_it_ends",
    ),
    "A host may run its agent itself, with the same log, history, claim and stop.": (
        f"{OWN}::test_it_leaves_the_log_of_a_turn",
        f"{OWN}::test_turns_and_own_runs_share_one_history",
        f"{OWN}::test_one_run_at_a_time_whoever_drives_it",
        f"{OWN}::test_it_is_stopped_from_anywhere_and_its_caller_is_told",
    ),
    "Closing down stops or hands over what runs.": (
        f"{STOPPING}::test_closing_down_hands_a_running_turn_over",
        f"{WORKERS}::test_a_worker_told_to_end_drains_for_a_while_then_hands_over",
        f"{WORKERS}::test_a_server_that_runs_turns_itself_hands_them_over_as_it_ends",
        f"{EXECUTOR}::test_what_runs_long_is_cut_short_as_it_stops",
    ),
    "A run records the trace of each of its attempts.": (
        f"{SPANS}::test_a_run_that_resumes_has_a_trace_for_each_attempt",
    ),
    # Notes and steering
    "A run starts with the notes it missed, in tags, once, and they stay in history.": (
        f"{NOTES}::test_a_change_is_told_exactly_once",
        f"{NOTES}::test_notes_come_before_the_message",
        f"{NOTES}::test_what_people_write_cannot_close_the_tag",
    ),
    "What was seen ends where history was stored: nothing is told twice, nothing skipped.": (
        f"{STEERING}::test_two_runs_report_each_change_exactly_once",
        f"{NOTES}::test_a_change_during_a_turn_is_told_in_the_next",
        f"{RETRIES}::test_changes_are_told_once_though_an_attempt_died_between",
    ),
    "The agent's own changes are no notes.": (
        f"{NOTES}::test_the_agents_own_changes_are_no_news",
        f"{STEERING}::test_the_agents_own_changes_are_not_told",
    ),
    "Others' changes of what is followed are in the next request.": (
        f"{STEERING}::test_a_change_is_in_the_next_request_as_a_note",
        f"{PAUSES}::test_changes_during_the_pause_are_told_once",
    ),
    "A message during a run is in its next request as it was written; no second run starts.": (
        f"{STEERING}::test_a_message_is_in_the_next_request_as_it_was_written",
        f"{STEERING}::test_it_is_in_the_history_once",
        f"{STEERING}::test_what_the_ending_run_did_not_deliver_starts_the_next_turn",
    ),
    "A notice starts, steers and answers nothing, and says that it is one.": (
        f"{TURNS}::test_a_notice_asks_for_nothing",
        f"{PAUSES}::test_a_notice_answers_nothing",
        f"{API}::test_what_is_said_is_read_back_as_envelopes",
    ),
    "Notices reach the agents that ask for them, and no others.": (
        f"{NOTES}::test_an_agent_that_asks_for_notices_is_told_each_once",
        f"{NOTES}::test_a_notice_during_a_run_is_in_its_next_request",
        f"{NOTES}::test_notices_are_not_told",
    ),
    # Proposals
    "A tool may propose on a direct kind, and suggest mode always proposes.": (
        f"{TOOLS}::test_edit_text_can_propose",
        f"{TOOLS}::test_suggest_mode_turns_a_direct_edit_into_a_proposal_until_it_ends",
    ),
    "A run that proposed goes on, and may end before anybody decides.": (
        f"{NOTES}::test_a_decision_on_its_proposal_is_told",
        f"{SCRIPTS}::test_script",
    ),
    "The agent learns a decision from a note, with the reviewer's own changes.": (
        f"{NOTES}::test_a_decision_on_its_proposal_is_told",
        f"{NOTES}::test_an_acceptance_with_own_edits_is_told_with_them",
    ),
    # Pauses
    "A question pauses the run, as does every tool that defers.": (
        f"{PAUSES}::test_a_question_pauses_the_run_and_its_answer_resumes_it",
        f"{ASKING}::test_a_call_that_a_person_does_is_logged_once",
    ),
    "A tool that needs an approval executes when it is approved, and never else.": (
        f"{ASKING}::test_an_approved_call_is_logged_once",
        f"{ASKING}::test_a_declined_call_executes_nothing",
    ),
    "A call that asked in the middle of its tool comes back in the log, however it is answered.": (
        f"{ASKING}::test_an_approved_call_is_logged_once",
        f"{ASKING}::test_a_declined_call_executes_nothing",
        f"{ASKING}::test_an_answer_comes_back_in_the_log_once_though_its_attempt_dies",
    ),
    "What a tool says about its request is there for people, and for the tool when it goes on.": (
        f"{ASKING}::test_what_a_tool_says_when_it_asks_is_there_when_it_goes_on",
        f"{ASKING}::test_a_question_without_anything_said_has_no_metadata",
    ),
    "An agent that cannot pause is refused as a site is set up, and before its first request.": (
        f"{AGENTS}::test_an_agent_that_would_ask_and_cannot_wait_is_refused",
        f"{ASKING}::test_an_agent_that_cannot_wait_says_so",
        f"{CHECKS}::test_a_check_refuses_an_agent_that_cannot_wait",
        f"{CHECKS}::test_a_worker_tells_it_as_it_starts",
        f"{CHECKS}::test_a_command_that_passes_by_makes_no_agent",
    ),
    "A pause is recorded with its requests and history, and holds no process.": (
        f"{PAUSES}::test_a_question_pauses_the_run_and_its_answer_resumes_it",
    ),
    "Answers come from every surface; the run goes on when all are given, under its own id.": (
        f"{API}::test_a_paused_run_is_answered_by_who_may",
        f"{ADMIN}::test_a_question_is_answered_by_a_choice_or_in_own_words",
        "e2e/test_live_conformance.py::test_every_case_through_the_socket",
        f"{PAUSES}::test_the_last_answer_asks_for_the_turn",
    ),
    "A pause outlives every process.": (
        f"{WORKERS}::test_a_pause_outlives_every_process",
        f"{PAUSES}::test_a_resumed_run_that_died_keeps_its_answers",
    ),
    "A message answers open questions, declines open approvals, and resumes the run.": (
        f"{PAUSES}::test_a_message_to_a_paused_thread_is_the_reply",
        f"{PAUSES}::test_a_message_answers_only_what_is_still_open",
    ),
    "What a run used is counted over all of its attempts.": (
        f"{ASKING}::test_what_the_attempts_of_a_run_used_is_counted_together",
        f"{ASKING}::test_a_run_that_is_stopped_while_it_waits_tells_what_it_used",
    ),
    "No approval executes a tool twice, and a missing or odd one never does.": (
        f"{PAUSES}::test_an_approved_tool_runs_at_most_once_though_its_process_dies",
        f"{PAUSES}::test_a_crash_between_the_record_and_the_tool_executes_nothing",
        f"{PAUSES}::test_a_provider_may_use_the_id_of_a_call_again",
        f"{PAUSES}::test_an_agents_message_decides_no_approval",
    ),
    # History
    "Stored history answers every tool call, whatever ended the run.": (
        f"{HISTORY}::test_a_failed_turn_is_remembered_with_every_call_answered",
        f"{BAD}::test_the_turn_ends_with_a_reason_and_the_thread_goes_on",
        f"{CANCELLING}::test_it_is_stopped_whole_wherever_it_waits",
    ),
    "Every shape of message survives storage, and pending approvals stay pending.": (
        f"{HISTORY}::test_every_message_shape_survives_storage",
        f"{PAUSES}::test_the_last_answer_asks_for_the_turn",
    ),
    "Cancelled wherever it waits, history is usable or says why not.": (
        f"{CANCELLING}::test_it_is_stopped_whole_wherever_it_waits",
        f"{HISTORY}::test_a_message_too_large_to_store_is_left_out_with_a_reason",
    ),
    # Live output
    "What a model streams is never in the log, and comes to watchers in order.": (
        f"{FORWARD}::test_parts_come_in_order_and_are_numbered_over_the_run",
        f"{LIVE_AGENT}::test_the_stream_is_watched_while_it_goes_on_late_comers_included",
    ),
    "A model that does not stream is asked plainly, and can be watched all the same.": (
        f"{UNSTREAMED}::test_it_answers_and_can_be_watched",
        f"{UNSTREAMED}::test_a_long_answer_comes_in_frames_of_a_bounded_size",
        f"{UNSTREAMED}::test_its_failure_is_a_models_failure",
    ),
    "A run that nobody watches ends the same.": (
        f"{OWN}::test_it_leaves_the_log_of_a_turn",
        f"{FORWARD}::test_a_channel_that_hangs_holds_up_nobody",
        f"{FORWARD}::test_a_channel_that_fails_costs_nothing",
    ),
    "A run holds a claim, not a socket.": (
        f"{LIVE_AGENT}::test_a_turn_does_not_mind_that_whoever_asked_for_it_leaves",
    ),
    # Claims
    "One run of a thread at a time: of two claims at once, one wins.": (
        f"{TURNS}::test_two_turns_of_a_thread_never_overlap",
        f"{TURNS}::test_the_database_itself_refuses_a_second_running_run",
        f"{CLAIMS}::test_of_racing_takers_one_wins",
        f"{CLAIMS}::test_control_a_look_before_the_take_lets_several_win",
    ),
    "A claim is renewed while it is held, and lapses with its holder.": (
        f"{LEASES}::test_it_is_renewed_from_its_own_thread_while_the_turn_goes_on",
        f"{CLAIMS}::test_a_claim_lapses_and_cannot_be_renewed_then",
    ),
    "A run whose claim lapsed is cancelled and writes nothing more, its tools neither.": (
        f"{LEASES}::test_a_turn_is_cancelled_when_its_claim_is_lost",
        f"{TURNS}::test_a_turn_that_lost_its_claim_writes_nothing_more",
        f"{OWN}::test_it_is_cut_short_when_its_claim_is_lost",
        f"{OWN}::test_its_tools_write_nothing_once_its_claim_is_lost",
    ),
    "Runs of different threads go on at the same time, and share nothing.": (
        f"{TURNS}::test_runs_share_no_state",
        f"{RETRIES}::test_others_go_on_while_a_poisoned_turn_is_tried",
    ),
    "A wake-up that comes twice meets the claim and leaves.": (
        f"{TURNS}::test_a_second_copy_of_a_wake_up_leaves_while_the_first_still_runs",
        f"{DOOR}::test_a_second_copy_of_a_wake_up_meets_the_claim",
    ),
    "Leases lapse by a clock that tests move.": (
        f"{CLAIMS}::test_a_claim_lapses_and_cannot_be_renewed_then",
    ),
    # What survives
    "A dead process's run is abandoned, and its turn taken again, from what is stored.": (
        f"{RETRIES}::test_what_a_dead_process_left_is_recorded_and_taken_again",
        f"{RETRIES}::test_it_goes_on_from_what_is_stored_and_is_told_what_was_done",
        f"{WORKERS}::test_a_worker_killed_at_any_point_costs_nothing",
    ),
    "A message whose process died before its turn is found by the sweep.": (
        f"{TURNS}::test_a_sweep_wakes_what_was_asked_and_not_taken",
    ),
    "A tool that never came back is in doubt, and not called again.": (
        f"{RETRIES}::test_a_tool_that_never_came_back_is_in_doubt_and_not_run_again",
    ),
    "A turn that kills every process is given up with a reason; others go on.": (
        f"{RETRIES}::test_a_message_that_kills_every_process_is_given_up",
        f"{RETRIES}::test_the_next_attempt_waits_longer_each_time",
    ),
    "Stop and watch reach runs in other processes.": (
        f"{WORKERS}::test_a_stop_reaches_the_process_that_runs_the_turn",
        f"{STOPPING}::test_another_process_finds_the_mark_by_looking",
        f"{STOPS}::test_a_repeat_gets_the_first_outcome_also_when_the_run_has_ended",
        f"{LIVE_RUNS}::test_a_watcher_at_another_server_gets_the_same",
    ),
    "A model may do its worst: its turn ends with a reason, and the next message is answered.": (
        f"{BAD}::test_the_turn_ends_with_a_reason_and_the_thread_goes_on",
        f"{BAD}::test_a_stream_without_end_is_cut_off_by_its_size",
        f"{BAD}::test_a_stream_that_never_ends_costs_a_turn_and_no_memory",
        f"{BAD}::test_a_flood_of_proposals_is_dammed",
        f"{FAILURES}::test_every_reason_is_a_code_and_a_sentence",
    ),
    "The events of scripted turns are those expected, conflicts, steering and pauses among them.": (
        f"{SCRIPTS}::test_script",
    ),
    # A terminal
    "In a terminal a thread is talked to, its runs are seen live, and questions answered.": (
        f"{CHAT}::test_questions_and_approvals_are_answered",
        f"{TYPING}::test_text_of_a_run_that_somebody_else_began_is_shown_as_it_comes",
        f"{TYPING}::test_what_is_typed_while_the_agent_works_steers_it",
        f"{TYPING}::test_a_question_that_comes_meanwhile_is_what_the_next_line_answers",
        "e2e/test_chat_terminal.py::test_a_conversation_while_the_agent_works",
    ),
    # The socket
    "Whoever sends a command gets an answer, also where its frame cannot be read.": (
        "e2e/test_live_protocol.py::test_what_cannot_be_read_is_answered_under_its_id",
        "e2e/test_live_protocol.py::test_a_frame_of_more_than_the_limit_is_refused",
        "e2e/test_browser_client.py::test_a_complaint_settles_the_only_command_it_can_be_about",
        "e2e/test_browser_client.py::test_an_id_that_no_answer_could_name_is_refused_at_once",
        "e2e/test_browser_client.py::test_what_is_too_large_for_the_server_is_not_sent_again",
    ),
}
