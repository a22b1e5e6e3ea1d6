//! The conformance suite: what every store promises, said once.
//!
//! One case is one promise, an async function named as it. [`conformance!`](macro@crate::conformance)
//! turns each into a test of its own; the one list below drives it.

#![expect(missing_docs, reason = "a case is named as the promise it checks")]

pub mod audit;
pub mod bounds;
pub mod cancel;
pub mod claim;
pub mod clock;
pub mod dispatch;
pub mod enqueue;
pub mod expiry;
pub mod fencing;
pub mod lease;
pub mod operate;
pub mod order;
pub mod payload;
pub mod poison;
pub mod queues;
pub mod retention;
pub mod settle;
pub mod unique;
pub mod watch;
pub mod workers;

/// One test per case for a store that `open` opens:
/// `async fn open(clock: Arc<ManualClock>) -> Opened`.
#[macro_export]
macro_rules! conformance {
    ($open:ident) => {
        $crate::conformance_cases! { one_test_per_case $open }
    };
}

/// One test per topic, its cases one after the other, for a store that is dear to open: `open` opens
/// it for each case, empty, and may keep the servers behind it.
#[macro_export]
macro_rules! conformance_by_topic {
    ($open:ident) => {
        $crate::conformance_cases! { one_test_per_topic $open }
    };
}

/// Hands the list of topics and their cases to another macro of this crate.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ($then:ident $($argument:ident)?) => {
        $crate::$then! {
            $($argument)?
            enqueue {
                a_new_job_is_accepted_and_ready,
                a_delayed_job_is_accepted_as_scheduled,
                a_due_time_in_the_past_is_now,
                everything_said_of_a_job_is_kept,
                the_same_id_is_the_same_job,
                a_duplicate_is_told_the_first_jobs_state,
                a_duplicate_of_an_ended_job_is_told_how_it_ended,
                each_job_of_a_batch_has_its_own_answer,
                an_id_is_remembered_for_an_hour_after_its_end,
                an_id_is_remembered_when_its_job_is_no_longer_kept,
                dedup_for_says_how_long_an_id_is_remembered,
                dedup_max_bounds_the_ids_remembered,
                a_generated_id_is_forgotten_at_its_end,
                an_id_belongs_to_its_queue,
                waiting_for_a_job_that_was_there_before_keeps_its_outcome,
            }
            unique {
                a_held_key_makes_a_duplicate_of_the_first_job,
                a_key_is_held_while_its_job_runs_or_waits_to_run_again,
                a_key_is_free_when_its_job_succeeded,
                a_key_is_free_when_its_job_is_dead,
                a_key_is_free_when_its_job_was_cancelled,
                a_key_is_free_when_its_job_expired,
                a_key_is_free_when_its_job_was_purged,
                a_key_belongs_to_its_queue,
                a_dead_job_whose_key_is_taken_cannot_be_retried,
                a_retried_job_holds_its_key_again,
            }
            order {
                jobs_of_one_priority_run_in_the_order_they_came,
                priority_comes_before_age,
                a_job_is_never_early,
                due_jobs_are_promoted_by_due_time_then_id,
                ids_are_compared_by_their_bytes,
                a_promoted_job_stands_at_the_back_of_its_priority,
                released_jobs_return_to_the_front_in_claim_order,
                reaped_jobs_return_to_the_front_in_claim_order,
                a_job_returns_to_the_front_of_its_own_priority,
                a_later_reap_stands_ahead_of_an_earlier_one,
                leases_are_reaped_in_the_order_they_ended,
                a_queue_may_put_returned_jobs_at_the_back,
                claims_lost_on_the_way_keep_their_order_at_the_back,
                a_retried_job_stands_at_the_back,
                a_job_promoted_by_hand_stands_at_the_back,
                a_job_cancelled_and_enqueued_again_has_only_its_new_place,
                a_thousand_jobs_run_in_the_order_they_came,
            }
            claim {
                a_claimed_job_is_not_handed_out_twice,
                a_claim_shows_the_job_running,
                a_claim_hands_out_no_more_than_asked,
                a_claim_hands_out_a_hundred_jobs_at_most,
                a_claim_takes_from_one_queue,
                a_repeated_claim_is_the_same_claim,
                a_repeated_claim_returns_what_is_still_held,
                a_claim_past_its_lease_may_be_repeated_until_it_is_reaped,
                a_claim_with_a_lower_number_gets_nothing,
                claims_of_two_boots_are_apart,
                an_empty_claim_writes_nothing,
                an_empty_claim_does_not_use_up_its_number,
                tokens_grow_while_the_clock_stands,
                the_claimers_nonce_is_in_the_token,
                a_paused_queue_hands_out_nothing_and_does_all_else,
                a_paused_queue_answers_the_repeat_of_a_claim,
                a_claim_moves_the_queue_with_no_maintenance,
                jobs_claimed_at_most_once_have_ended_when_handed_out,
                a_lost_reply_loses_jobs_claimed_at_most_once,
                a_repeated_claim_at_most_once_ends_no_further_job,
                completing_may_claim_the_next_in_the_same_step,
                a_claim_that_asks_for_nonsense_is_refused,
                concurrent_claims_hand_out_each_job_once,
            }
            lease {
                a_lease_ends_at_its_end,
                the_token_decides_and_not_the_clock,
                a_lease_past_its_end_is_renewed_whole,
                a_renewed_lease_is_kept,
                a_renewal_never_shortens_a_lease,
                one_renewal_keeps_all_claims_of_a_worker,
                a_single_claim_has_a_lease_of_its_own,
                renewing_a_claim_just_completed_holds_nothing_and_loses_nothing,
                a_new_claim_never_shortens_a_workers_lease,
                a_worker_that_holds_nothing_keeps_its_lease,
                a_single_lease_ends_with_its_last_job,
                a_claim_whose_reply_was_lost_goes_back_to_the_front,
                a_claim_still_on_its_way_is_kept_by_a_renewal,
                a_token_that_holds_nothing_is_told_lost,
                a_finished_claim_is_not_called_lost_for_a_minute,
                progress_is_shown_and_renews_nothing,
                progress_beyond_its_bounds_is_refused,
                a_lease_of_no_sensible_length_is_refused,
                a_reaped_boot_may_claim_again,
            }
            fencing {
                a_stale_token_settles_nothing,
                a_stale_token_holds_nothing,
                a_reaped_token_settles_nothing_although_the_job_waits,
                a_token_that_was_never_issued_settles_nothing,
                a_token_settles_only_jobs_of_its_own_claim,
                a_job_that_never_was_is_gone,
                a_verb_on_a_queue_that_never_was_makes_none,
                exactly_one_of_two_holders_completes,
                a_claim_is_completed_in_parts_and_in_any_order,
                a_repeated_complete_is_told_completed_again,
                a_complete_repeated_late_is_told_gone,
                a_complete_repeated_late_on_a_kept_job_is_told_lost,
                an_id_enqueued_again_is_not_settled_by_its_earlier_life,
            }
            settle {
                a_failed_job_runs_again_after_its_delay,
                delays_double_with_every_failure,
                the_caller_draws_the_jitter,
                a_job_out_of_attempts_is_dead,
                attempts_run_out_at_chosen_times_too,
                a_permanent_failure_is_death,
                no_attempt_starts_after_the_retry_deadline,
                a_handler_may_choose_the_time_of_the_next_attempt,
                a_release_is_no_attempt,
                a_snooze_is_no_attempt,
                a_repeated_verb_is_told_the_same_and_another_is_told_lost,
                repeats_are_answered_for_a_minute_after_the_last_job_left,
                each_job_of_a_settling_batch_has_its_own_answer,
                a_result_is_kept_with_its_job,
                a_result_over_the_limit_is_refused_and_changes_nothing,
                a_long_error_is_cut_between_characters,
            }
            poison {
                an_expiry_is_no_attempt,
                a_suspect_is_handed_out_by_itself,
                one_crash_makes_no_suspects,
                suspects_wait_in_a_lane_at_the_head_of_their_priority,
                a_worker_holds_one_suspect_at_a_time,
                a_suspect_that_ran_for_ten_seconds_is_trusted,
                another_worker_may_take_the_next_suspect,
                a_third_expiry_in_a_claim_of_its_own_is_poison,
                one_aborting_job_ends_dead_and_ninety_nine_neighbours_succeed,
                poison_after_says_how_many_expiries_are_too_many,
                a_patient_queue_lets_a_job_expire_more_often,
                a_suspect_stays_one_when_it_runs_again_later,
                a_released_suspect_dies_no_sooner,
                a_retried_poison_job_starts_afresh,
            }
            dispatch {
                a_dispatched_job_runs_and_is_not_accepted,
                a_job_not_accepted_in_time_goes_back_to_the_front,
                an_accepted_job_is_held_for_its_lease,
                accepting_again_is_told_yes_again,
                an_offer_that_went_back_cannot_be_accepted,
                an_accepted_job_is_completed_with_its_token,
                declining_an_offer_gives_the_job_back_at_once,
            }
            cancel {
                a_waiting_job_is_cancelled_at_once,
                a_running_jobs_holder_learns_of_it_by_renewing,
                a_single_holder_learns_of_it_by_renewing,
                asking_again_changes_nothing,
                completing_wins_over_cancelling,
                a_failed_job_asked_to_stop_is_cancelled,
                a_released_job_asked_to_stop_is_cancelled,
                a_snoozed_job_asked_to_stop_is_cancelled,
                a_reaped_job_asked_to_stop_is_cancelled,
                a_job_asked_to_stop_is_cancelled_when_its_worker_leaves,
                an_ended_job_cannot_be_cancelled,
                every_id_named_has_its_answer_in_order,
                the_holder_of_a_unique_key_is_cancelled_by_it,
                every_job_with_equal_bytes_is_cancelled_by_them,
                many_jobs_are_cancelled_in_pages,
                jobs_are_cancelled_by_state_and_kind,
            }
            operate {
                a_retried_job_begins_anew,
                only_a_dead_job_is_retried,
                a_retried_job_is_live_for_duplicates,
                a_deleted_job_is_forgotten_with_its_id,
                an_id_that_is_only_remembered_is_forgotten_by_deleting_it,
                an_id_no_longer_remembered_is_not_found,
                a_live_job_cannot_be_deleted,
                a_scheduled_job_is_promoted_by_hand,
                jobs_are_changed_by_filter_in_pages,
                dead_jobs_of_a_kind_are_retried_together,
                a_purge_removes_all_that_wait_in_pages,
                a_purged_id_may_be_used_again,
                changes_to_a_queue_that_never_was_make_none,
                a_filter_meets_the_dead_in_the_order_they_died,
            }
            retention {
                a_job_without_result_is_not_kept,
                a_job_with_result_is_kept_for_an_hour,
                a_job_somebody_waits_for_is_kept_without_result,
                an_empty_result_is_a_result,
                a_dead_job_is_kept_for_thirty_days,
                a_cancelled_job_is_kept_for_an_hour,
                the_oldest_go_when_there_are_too_many,
                the_oldest_go_when_they_take_too_many_bytes,
                jobs_ended_at_one_moment_go_in_the_order_of_their_ids,
                a_queue_may_keep_nothing,
                a_queue_may_keep_all,
                a_tighter_setting_prunes_what_was_kept,
                a_verb_that_ends_one_job_prunes_two,
                a_claim_prunes_too,
                the_error_of_a_dead_job_counts_as_bytes,
                a_finished_queue_returns_to_nothing,
                maintenance_counts_the_ids_and_claims_it_forgets,
            }
            expiry {
                a_job_past_its_expiry_is_dead_at_the_next_claim,
                a_job_before_its_expiry_is_handed_out,
                maintenance_gives_up_expired_jobs,
                a_running_job_does_not_expire,
                a_job_given_back_after_its_expiry_is_not_begun_again,
                an_expired_job_may_be_retried,
                an_expired_job_is_counted_among_the_dead,
            }
            workers {
                a_registered_worker_is_known,
                workers_are_listed_in_the_order_of_their_ids,
                a_beat_shows_what_a_worker_does,
                a_worker_is_told_at_its_next_beat,
                an_unknown_worker_is_told_that_it_is_lost,
                a_silent_worker_is_told_that_it_is_lost,
                a_worker_silent_for_a_day_is_forgotten,
                a_silent_worker_may_still_be_failed,
                a_beating_worker_is_remembered,
                a_worker_that_leaves_gives_all_back_to_the_front,
                a_worker_may_leave_one_queue_and_go_on_in_the_rest,
                what_a_leaver_held_is_lost_to_it,
                a_failed_workers_jobs_are_reaped_now,
                what_a_failed_worker_held_is_lost_to_it,
                registering_again_is_harmless,
                what_a_worker_says_of_itself_is_bounded,
                a_worker_falls_silent_although_the_clock_was_set_back,
            }
            queues {
                the_counters_equal_a_recount,
                totals_count_the_whole_life_of_a_queue,
                the_last_minute_is_counted_when_it_is_over,
                the_oldest_waiting_job_is_known,
                a_pause_is_shown,
                a_queue_may_be_paused_before_its_first_job,
                settings_have_their_defaults_until_they_are_changed,
                a_changed_setting_leaves_the_others,
                a_queue_begins_with_its_first_job,
                a_queue_begins_with_its_first_worker,
                pages_show_each_job_once,
                a_job_that_stays_put_is_seen_while_others_move,
                a_listing_is_filtered_by_state_and_kind,
                jobs_of_one_time_are_paged_by_the_bytes_of_their_ids,
                a_listing_leaves_out_payloads_and_results,
                what_is_asked_for_is_what_the_dump_shows,
            }
            clock {
                a_small_step_back_is_bridged_by_the_latest_time_seen,
                a_due_job_stays_due_when_the_clock_steps_back_a_little,
                a_large_step_back_is_believed,
                a_large_step_back_cuts_leases_to_their_length,
                a_step_back_cuts_a_short_lease_beneath_many_long_ones,
                a_step_back_never_lengthens_a_lease,
                a_token_outlives_a_step_back,
                a_job_keeps_its_due_time_through_a_step_back,
            }
            payload {
                every_byte_comes_back,
                an_empty_payload_comes_back_empty,
                a_payload_at_the_limit_comes_back,
                a_payload_over_the_limit_is_refused,
                a_batch_over_the_limit_is_refused,
                text_that_looks_like_a_query_is_only_bytes,
            }
            watch {
                a_hint_comes_for_new_work,
                a_hint_comes_for_work_given_back,
                a_hint_comes_for_reaped_work,
                a_hint_comes_for_a_cancelled_running_job,
                a_cancellation_is_heard_by_who_listens_for_nothing_else,
                hints_speak_of_the_queues_asked_for,
                everything_works_with_every_hint_lost,
            }
            audit {
                a_healthy_queue_has_nothing_to_repair,
                a_large_queue_is_audited_in_pages,
                a_queue_that_never_was_has_nothing_to_repair,
            }
            bounds {
                one_claim_promotes_a_hundred_due_jobs,
                a_workers_many_jobs_come_back_in_order_over_two_steps,
                a_half_reaped_boot_is_handed_nothing,
                one_claim_passes_a_hundred_expired_jobs,
                maintenance_does_no_more_than_its_limit,
                maintenance_does_at_most_a_page,
                maintenance_prunes_at_most_a_page,
                ending_two_hundred_jobs_prunes_four_hundred,
                a_renewal_gives_back_lost_claims_until_a_hundred_jobs_went,
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! one_test_per_case {
    ($open:ident $($topic:ident { $($case:ident,)+ })+) => {
        $(mod $topic {
            $(#[tokio::test]
            async fn $case() -> $crate::conformance::Outcome {
                let bench = $crate::Bench::open(super::$open, stringify!($case)).await;
                $crate::conformance::$topic::$case(&bench).await?;
                bench.assert_sound().await
            })+
        })+
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! one_test_per_topic {
    ($open:ident $($topic:ident { $($case:ident,)+ })+) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $topic() -> $crate::conformance::Outcome {
            $({
                println!(stringify!($case));
                let bench = $crate::Bench::open($open, stringify!($case)).await;
                $crate::conformance::$topic::$case(&bench).await?;
                bench.assert_sound().await?;
            })+
            Ok(())
        })+
    };
}

/// A table of (topic, cases).
#[doc(hidden)]
#[macro_export]
macro_rules! case_names {
    ($($topic:ident { $($case:ident,)+ })+) => {
        &[$((stringify!($topic), &[$(stringify!($case)),+])),+]
    };
}

/// What a case answers: an error when the store could not answer at all.
pub type Outcome = windlass_core::Result<()>;

/// Every topic with the names of its cases.
pub const CASES: &[(&str, &[&str])] = crate::conformance_cases! { case_names };

#[cfg(test)]
mod tests {
    use super::CASES;

    #[test]
    fn every_case_is_in_the_list() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/conformance");
        for (topic, listed) in CASES {
            let source = std::fs::read_to_string(format!("{folder}/{topic}.rs")).unwrap();
            let written: Vec<_> = source
                .lines()
                .filter_map(|line| line.strip_prefix("pub async fn "))
                .filter_map(|rest| rest.split('(').next())
                .collect();
            assert_eq!(written, *listed, "{topic}");
        }
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), CASES.len());
    }
}
