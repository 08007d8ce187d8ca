"""Failures that others reported publicly, and the test that shows that they do not happen here.

P = nats-io/nats.py, S = nats-io/nats-server, A = MagicStack/asyncpg. A line: report, what it is, test or reason.

1   P#986, #933 orphaned pull · test_a_message_after_many_expired_pulls_is_heard_without_waiting_for_a_silence
2   P#504 pull dead after a restart ·
    test_an_idle_pull_goes_on_after_a_restart_of_the_server_without_waiting_for_a_silence
4   P#529, #354 first publish after a reconnect · test_the_first_publish_after_a_reconnect_is_taken_once
5   published after its caller's error · test_what_is_published_while_the_server_is_away_fails_at_once_and_never_comes,
    test_what_a_silent_server_did_not_take_is_bounded_and_never_comes
7   P#507 end of file inside a pull · test_a_link_cut_in_the_middle_of_a_message_costs_a_redelivery_and_no_message
8   P#1019 a revoked key · test_a_key_that_is_revoked_ends_the_process_with_code_3_and_without_readiness,
    test_a_refusal_by_the_server_ends_the_process_with_its_words
10  P#352 first connect with a wrong seed · test_a_service_that_nats_refuses_ends_and_says_what_to_check,
    test_a_seed_that_is_none_ends_the_start_with_code_2_and_is_named
11  consumer deleted while a pull waits ·
    test_a_deleted_consumer_is_an_alarm_and_few_questions_and_its_return_is_noticed
13  nats.go#2063 leader change · test_a_leader_that_dies_and_one_that_is_restarted_cost_no_message
14  S#5679, #4736 silent consumer · test_a_pull_that_the_server_lost_is_made_again_after_a_silence,
    test_a_message_that_comes_after_a_silence_is_not_lost_until_its_redelivery; the lag alarm: deploy/prometheus
16  S#4786 stale acknowledgement ·
    test_an_acknowledgement_by_one_whose_message_another_has_by_now_makes_no_second_effect
17  nats.java#1042 in_progress · test_nothing_is_ever_said_to_be_in_progress
19  S#6874, #6538 max_deliver, interest · test_no_stream_drops_what_was_not_heard_and_no_consumer_gives_up
20  S#7564 acknowledged writes lost · test_what_a_power_cut_took_from_the_stream_is_said_again
22  S#7545, #7549 flipped bits · test_what_a_flipped_byte_took_from_a_stream_is_said_again
23  P#298, #372 slow consumer · test_the_largest_messages_on_a_slow_link_do_not_make_the_server_end_it
25  drain while reconnecting · no drain is called; test_a_stop_while_the_link_is_being_made_anew_ends_content
26  P#806, #841, #853 close, flush and cancellation ·
    test_a_close_that_is_cancelled_while_it_flushes_ends_and_leaves_no_socket,
    test_a_close_over_a_silent_link_full_of_unsent_ends
28  P#1016, #1017, #897 line ends in names and headers · test_an_id_cannot_carry_a_line_of_the_protocol,
    test_a_line_end_in_a_header_or_a_subject_adds_nothing_to_the_wire
29  P#793 memory of publishes · test_many_publishes_leave_nothing_in_memory
31  P#962 callbacks of nats-jetstream leak · that library is not used; it is the reason why not
32  half-open TCP · test_a_silent_link_is_given_up_within_45_seconds_unless_told_otherwise,
    test_a_silent_link_is_noticed_and_replaced, test_a_silent_link_full_of_what_it_did_not_take_is_replaced_too
35  FastStream 0.7.8: 4,642 pulls a second; loop blocked after a close · as 11;
    test_an_error_of_the_server_that_is_no_refusal_costs_a_link_and_not_the_process
37  A#431 release hangs · test_work_cancelled_while_its_connection_is_given_back_keeps_no_connection,
    test_closing_over_a_silent_link_is_bounded
38  A#1247 starved pool · test_a_hundred_workers_on_ten_connections_all_get_one,
    test_a_pool_without_a_free_connection_is_a_transient_error
40  A#945, #1058, #339, #121 PgBouncer in transaction mode ·
    test_everything_runs_through_pgbouncer_in_transaction_mode_without_a_cache_of_statements,
    test_a_whole_hop_runs_through_pgbouncer_in_transaction_mode
41  A#519, #283, #189 listener lost · there is none: the outbox is swept, never notified of;
    test_a_session_that_the_server_ends_is_replaced, test_no_code_of_ours_listens_or_notifies
43  partial configuration sent as defaults · test_a_repair_of_one_field_leaves_every_other_as_it_was
"""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_every_test_that_is_named_here_exists() -> None:
    texts = [path.read_text() for path in TESTS.rglob("test_*.py")]
    existing = {name for text in texts for name in re.findall(r"^(?:async )?def (test_\w+)", text, re.MULTILINE)}
    named = set(re.findall(r"\btest_\w+", __doc__ or ""))
    assert len(named) > 30
    assert not named - existing
