"""Which fault is proven by which test.

a source hangs                   recorder/test_misbehaving_sources.py::test_a_hung_source_keeps_what_it_gave
its SDK blocks its thread        recorder/test_misbehaving_sources.py::test_a_blocked_thread_neither_keeps_the_run_from_ending_nor_goes_unsaid
it refuses credentials           recorder/test_schedule.py::test_a_source_that_refuses_is_given_up_after_three_tries
it answers garbage: SNMP         faults/test_transports.py::test_an_agent_that_fails_is_unreachable_and_answers_the_same_session_when_it_is_back
it answers garbage: TLS          faults/test_transports.py::test_a_server_that_fails_between_requests_answers_the_same_session_when_it_is_back
it answers garbage: content      recorder/test_schedule.py::test_an_unreadable_answer_is_kept_in_part_and_the_source_polled_on
it resets the connection         faults/test_transports.py::test_a_reset_in_the_middle_of_an_answer_is_unreachable_and_half_an_answer_is_none
its port is closed (ICMP)        faults/test_transports.py::test_an_agent_that_fails_is_unreachable_and_answers_the_same_session_when_it_is_back
it restarts                      faults/test_restart.py::test_the_restart_is_an_event_and_no_failure
its counters begin again         faults/test_restart.py::test_no_rate_is_wrong_for_it
it comes back                    recorder/test_schedule.py::test_a_source_that_comes_back_is_polled_as_before
something else took its place    faults/test_schedule.py::test_what_has_answered_as_configured_is_asked_again_whatever_it_says_later
it has a defect                  recorder/test_misbehaving_sources.py::test_a_defect_is_told_and_its_rows_are_refused
others beside it                 recorder/test_schedule.py::test_a_source_that_fails_costs_a_healthy_one_nothing
every source fails in one run    faults/test_every_source_fails.py::test_the_verdict_is_what_it_is_without_faults
what that cost is said           faults/test_every_source_fails.py::test_every_failure_is_counted_and_what_it_cost_is_said
one device under two names       faults/test_one_device_twice.py::test_the_verdict_is_that_of_one_device
certificate of another name      faults/test_transports.py::test_a_certificate_of_another_or_of_yesterday_is_a_mistake_and_says_why
certificate of another authority transport/test_http.py::test_another_authority_is_a_mistake_that_names_ca_file
an agent loops                   transport/test_walk.py::test_an_agent_in_circles_ends_the_walk_with_its_rows
an agent takes 8 s               faults/test_late_answers.py::test_the_late_one_is_asked_less_often_and_comes_back
a late answer                    faults/test_transports.py::test_an_answer_that_is_too_late_is_not_taken_for_that_to_another_question
packets are cut or damaged       faults/test_snmp_clients.py::test_what_is_no_answer_is_unreachable
answers of another agent         faults/test_snmp_clients.py::test_an_answer_from_another_address_is_not_taken_and_the_address_is_told
five bad agents in one run       faults/test_agents_in_a_run.py::test_the_healthy_one_loses_nothing
they are told in the report      faults/test_agents_in_a_run.py::test_the_others_are_told_and_come_back
a counter jumps up               faults/test_absurd_counters.py::test_a_jump_up_makes_one_link_unknown_and_says_so
a counter falls back             faults/test_absurd_counters.py::test_a_jump_back_leaves_out_its_window_and_no_more
an SNMPv3 answer is altered      transport/test_snmp_v3_sha2.py::test_an_answer_that_was_altered_on_its_way_is_not_believed
an SSH host key has changed      transport/test_ssh.py::test_a_changed_host_key_is_said_loudly
an SSH host key is not known     transport/test_ssh.py::test_an_unknown_host_key_is_never_accepted
an SSH connection drops          transport/test_ssh.py::test_a_dropped_connection_is_one_failed_request_at_most
a result file is cut or damaged  fuzz/test_fuzz.py::test_no_changed_input_breaks_it
a result file holds no result    recorder/importing/test_import.py::test_a_file_that_nobody_reads_is_refused_in_one_line
port aliases with markup         faults/test_port_aliases.py::test_a_report_is_plain
fio fails                        recorder/test_fio_run.py::test_a_fio_that_fails_is_exit_code_4_and_says_its_own
fio is killed                    faults/test_load_dies.py::test_a_fio_that_is_killed_is_exit_code_4_and_leaves_no_job_behind
fio prints noise                 collectors/fio/test_load_reader.py::test_nonsense_around_documents_never_stops_the_reader
a load outlives its parent       recorder/test_load_command.py::test_processes_that_a_killed_load_leaves_behind_are_ended
the recorder is killed           recorder/test_signals.py::test_a_killed_recorder_loses_the_last_flush_at_most
the screen is killed             recorder/test_signals.py::test_the_test_goes_on_when_the_screen_is_killed
the disk fills                   faults/test_disk_full.py::test_a_disk_that_fills_does_not_disturb_the_load_and_what_fitted_is_readable
the disk is full for a while     faults/test_disk_full.py::test_a_disk_that_is_full_for_a_while_costs_no_row
the wall clock is set            recording/test_clock.py::test_a_jump_between_two_flushes_is_an_event_of_the_recording
a device's clock is wrong        facts/test_deltas.py::test_a_wrong_device_clock_changes_nothing
a terminal of 10 x 3: reports    faults/test_small_terminal.py::test_reports_end_well_on_it
a terminal of 10 x 3: live view  views/live/test_screen.py::test_a_tiny_terminal_still_has_the_verdict
the wall clock leaps in a run    faults/test_clock_jumps.py::test_no_rate_follows_the_wall_clock_and_it_is_said
whoever is killed at random      faults/test_kills.py::test_nothing_that_was_flushed_or_said_is_lost
the disk gives errors            faults/test_failing_disk.py::test_a_disk_that_fails_does_not_disturb_the_load_and_it_is_said
it gives errors for a while      faults/test_failing_disk.py::test_a_disk_that_fails_for_a_while_costs_no_row
the disk has no inodes left      faults/test_failing_disk.py::test_a_disk_without_inodes_does_not_disturb_the_load_and_it_is_said
certificates of every kind       faults/test_certificates.py::test_it_is_refused_in_one_line_before_anything_is_said
a document changed afterwards    recording/test_altered.py::test_a_document_that_was_changed_is_named
a small file of very many rows   recording/test_row_budget.py::test_a_small_file_of_very_many_rows_is_left_out_and_takes_no_memory
a truncated segment              recording/test_damage.py::test_a_truncated_segment_is_left_out_and_named
damage inside a segment          recording/test_damage.py::test_damage_inside_a_segment_is_found_when_it_is_read
a foreign segment                recording/test_damage.py::test_a_foreign_file_is_left_out_and_named
names with markup: text          views/test_reports.py::test_names_cannot_change_the_text_report
names with markup: Markdown      views/test_reports.py::test_names_cannot_change_the_markdown_report
names with markup: JSON          views/test_reports.py::test_json_holds_names_as_they_are_and_stays_one_object
names with markup: progress      views/test_reports.py::test_a_run_under_way_is_one_plain_line
names with markup: live view     views/live/test_screen.py::test_names_of_devices_cannot_change_the_layout
names with markup: check         cli/test_check.py::test_what_devices_say_reaches_the_terminal_without_control_characters
names with markup: comparison    faults/test_names.py::test_a_comparison_is_plain_and_keeps_to_its_width
names with markup: topology      faults/test_names.py::test_the_topology_is_plain_and_one_line_an_element
"""  # noqa: E501 - a test's name stays on one line

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
NAMED = re.findall(r"(\S+\.py)::(\w+)", __doc__ or "")


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda word: str(word))
def test_the_proof_of_each_fault_is_there(file: str, name: str) -> None:
    assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")
