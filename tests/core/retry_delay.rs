//! The retry policy, `Retry-After`, and when a request is sent again.

use crate::support::client::names::next_name;
use crate::support::client::requests::NOW;
use oncekey::Millis;
use oncekey::client::retry::{
    Jitter, MAX_TIMER, Outcome, Progress, RetryDecision, RetryPolicy, RetryPolicyError,
    RetrySettings, UnknownReason, attempt_timeout, expires_at, next, retry_after,
};
use proptest::prelude::*;

const AMBIGUOUS: Outcome = Outcome::Ambiguous(UnknownReason::Network);
const LONG: Millis = Millis::new(u64::MAX);

fn seconds(seconds: u64) -> Millis {
    Millis::from_seconds(seconds)
}

fn progress(retries: u32, elapsed: Millis, left: Millis) -> Progress {
    Progress { retries, elapsed, left }
}

fn fixed() -> RetryPolicy {
    RetryPolicy::new(RetrySettings { jitter: Jitter::None, ..RetrySettings::default() }).unwrap()
}

#[test]
fn the_default_settings_are_valid_and_leave_time_for_every_attempt() {
    let settings = RetrySettings::default();
    assert_eq!(RetryPolicy::new(settings.clone()), Ok(RetryPolicy::default()));
    assert!(settings.attempt_timeout > seconds(25), "longer than the server's own limit");
    let attempts = settings.attempt_timeout.as_u64() * u64::from(settings.limit + 1);
    let waits: u64 = settings.delays.iter().map(|delay| delay.as_u64()).sum();
    assert!(attempts + waits <= settings.total_time.as_u64(), "every attempt gets its time");
}

#[test]
fn the_errors_of_wrong_settings_say_what_is_wrong() {
    use RetryPolicyError as E;
    let good = RetrySettings::default;
    let (none, too_long) = (Millis::new(0), Millis::new(1 << 31));
    for (settings, error) in [
        (RetrySettings { limit: 101, ..good() }, E::LimitTooHigh),
        (RetrySettings { delays: vec![], ..good() }, E::NoDelays),
        (RetrySettings { delays: vec![none, too_long], ..good() }, E::DelayTooLong),
        (RetrySettings { attempt_timeout: none, ..good() }, E::AttemptTimeoutOutOfRange),
        (RetrySettings { attempt_timeout: too_long, ..good() }, E::AttemptTimeoutOutOfRange),
        (RetrySettings { total_time: none, ..good() }, E::TotalTimeOutOfRange),
        (RetrySettings { total_time: seconds(29), ..good() }, E::TotalTimeOutOfRange),
        (RetrySettings { total_time: too_long, ..good() }, E::TotalTimeOutOfRange),
        (RetrySettings { max_retry_after: too_long, ..good() }, E::MaxRetryAfterTooLong),
    ] {
        assert_eq!(RetryPolicy::new(settings), Err(error));
        assert!(!error.to_string().is_empty());
    }
    let edge = RetrySettings {
        limit: 100,
        delays: vec![none, MAX_TIMER],
        attempt_timeout: MAX_TIMER,
        total_time: MAX_TIMER,
        max_retry_after: MAX_TIMER,
        ..good()
    };
    assert!(RetryPolicy::new(edge).is_ok());
    assert!(RetryPolicy::new(RetrySettings { limit: 0, delays: vec![], ..good() }).is_ok());
}

#[test]
fn each_outcome_is_retried_at_its_time_or_never() {
    let policy = fixed();
    let refused = Outcome::Refused { http_status: 402 };
    let (again, not_again) = (
        Outcome::NotExecuted { http_status: 429, again: true },
        Outcome::NotExecuted { http_status: 401, again: false },
    );
    let none = seconds(0);
    for (outcome, progress, retry_after, expected) in [
        (AMBIGUOUS, progress(0, none, LONG), None, "retry after 1000"),
        (AMBIGUOUS, progress(1, none, LONG), None, "retry after 2000"),
        (again, progress(3, none, LONG), None, "retry after 8000"),
        (AMBIGUOUS, progress(4, none, LONG), None, "stop: retries used up"),
        (AMBIGUOUS, progress(4, none, LONG), Some(seconds(1)), "stop: retries used up"),
        (AMBIGUOUS, progress(0, none, LONG), Some(seconds(7)), "retry after 7000"),
        (AMBIGUOUS, progress(3, none, LONG), Some(none), "retry after 0"),
        (AMBIGUOUS, progress(0, seconds(179), LONG), None, "stop: time used up"),
        (AMBIGUOUS, progress(0, Millis::new(178_999), LONG), None, "retry after 1000"),
        (AMBIGUOUS, progress(0, none, seconds(1)), None, "stop: retention over"),
        (AMBIGUOUS, progress(0, none, Millis::new(1001)), None, "retry after 1000"),
        (Outcome::InProgress, progress(9, none, LONG), None, "poll after 1500"),
        (Outcome::InProgress, progress(0, none, LONG), Some(seconds(0)), "poll after 1000"),
        (Outcome::InProgress, progress(0, none, LONG), Some(seconds(5)), "poll after 5000"),
        (Outcome::InProgress, progress(0, seconds(179), LONG), None, "stop: time used up"),
        (Outcome::InProgress, progress(0, none, seconds(1)), None, "stop: retention over"),
        (Outcome::KeyExpired, progress(4, none, LONG), None, "poll after 0"),
        (not_again, progress(0, none, LONG), Some(seconds(1)), "stop"),
        (refused, progress(0, none, LONG), None, "stop"),
        (Outcome::Succeeded { http_status: 201 }, progress(0, none, LONG), None, "stop"),
        (Outcome::Unsettled(UnknownReason::Held), progress(0, none, LONG), None, "stop"),
        (Outcome::KeyReused { http_status: 400 }, progress(0, none, LONG), None, "stop"),
        (Outcome::KeyVoided, progress(0, none, LONG), None, "stop"),
    ] {
        let found = next_name(next(&policy, &outcome, progress, retry_after, 1 << 31));
        assert_eq!(found, expected, "{outcome:?} {progress:?} {retry_after:?}");
    }
}

#[test]
fn the_last_delay_is_repeated_and_a_limit_of_0_means_no_retry() {
    let settings = |limit| RetrySettings {
        limit,
        delays: vec![seconds(3)],
        jitter: Jitter::None,
        ..RetrySettings::default()
    };
    let of = |limit, retries| {
        let policy = RetryPolicy::new(settings(limit)).unwrap();
        next_name(next(&policy, &AMBIGUOUS, progress(retries, seconds(0), LONG), None, 0))
    };
    assert_eq!(of(9, 8), "retry after 3000");
    assert_eq!(of(0, 0), "stop: retries used up");
}

#[test]
fn each_attempt_has_its_own_time_limit_within_the_total() {
    let policy = RetryPolicy::default();
    let of = |elapsed, left| attempt_timeout(&policy, progress(0, elapsed, left));
    assert_eq!(of(seconds(0), LONG), seconds(30));
    assert_eq!(of(seconds(100), LONG), seconds(30));
    assert_eq!(of(seconds(170), LONG), seconds(10));
    assert_eq!(of(seconds(500), LONG), seconds(0));
    assert_eq!(of(seconds(0), seconds(4)), seconds(4));
}

#[test]
fn only_valid_values_of_retry_after_are_read() {
    // NOW is Mon, 24 Nov 2025 16:00:00 GMT.
    let date = "Mon, 24 Nov 2025 16:00:30 GMT";
    let of = |value, date| retry_after(value, date, NOW, seconds(60)).map(Millis::as_u64);
    for (value, expected) in [
        ("0", Some(0)),
        ("5", Some(5000)),
        ("007", Some(7000)),
        ("60", Some(60_000)),
        ("61", Some(60_000)),
        ("99999999999999999999999", Some(60_000)),
        (date, Some(30_000)),
        ("Monday, 24-Nov-25 16:00:30 GMT", Some(30_000)),
        ("Mon Nov 24 16:00:30 2025", Some(30_000)),
        ("Tue, 25 Nov 2025 16:00:30 GMT", Some(60_000)),
        ("Mon, 24 Nov 2025 16:00:00 GMT", None),
        ("Mon, 24 Nov 2025 15:59:30 GMT", None),
        ("", None),
        ("-3", None),
        ("+3", None),
        ("1.5", None),
        ("1e3", None),
        (" 5", None),
        ("5 ", None),
        ("5, 5", None),
        ("5s", None),
        ("0x10", None),
        ("٣", None),
        ("soon", None),
    ] {
        assert_eq!(of(value, None), expected, "{value:?}");
    }
    // A date is compared with the server's clock, if the response contains its date.
    assert_eq!(of(date, Some("Mon, 24 Nov 2025 16:00:20 GMT")), Some(10_000));
    assert_eq!(
        of("Wed, 03 Jun 2020 10:00:05 GMT", Some("Wed, 03 Jun 2020 10:00:00 GMT")),
        Some(5000)
    );
    assert_eq!(of(date, Some(date)), None);
    assert_eq!(of(date, Some("yesterday")), Some(30_000));
    assert_eq!(of("5", Some("Mon, 24 Nov 2025 10:00:00 GMT")), Some(5000));
}

#[test]
fn the_expiry_of_a_key_is_converted_to_the_local_clock() {
    let of = |value, date| expires_at(value, date, NOW).map(|point| point.since(NOW));
    let tomorrow = "Tue, 25 Nov 2025 16:00:00 GMT";
    assert_eq!(of(tomorrow, None), Some(Millis::from_days(1)));
    assert_eq!(of(tomorrow, Some("Tue, 25 Nov 2025 15:00:00 GMT")), Some(seconds(3600)));
    assert_eq!(of("Mon, 24 Nov 2025 15:00:00 GMT", None), None);
    assert_eq!(of("3600", None), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A plain second implementation of the rules.
    #[test]
    fn no_wait_is_longer_than_its_limit(
        delays in prop::collection::vec(0..=i32::MAX as u64, 1..6),
        limit in 0..8_u32,
        retries in 0..10_u32,
        random in any::<u32>(),
        (elapsed, left, total) in (0..1_u64 << 33, 0..1_u64 << 33, 30_000..=i32::MAX as u64),
        requested in prop::option::of(0..=i32::MAX as u64),
        in_progress in any::<bool>(),
    ) {
        let settings = RetrySettings {
            limit,
            delays: delays.iter().copied().map(Millis::new).collect(),
            total_time: Millis::new(total),
            ..RetrySettings::default()
        };
        let policy = RetryPolicy::new(settings).unwrap();
        let progress = progress(retries, Millis::new(elapsed), Millis::new(left));
        let outcome = if in_progress { Outcome::InProgress } else { AMBIGUOUS };
        let found = next(&policy, &outcome, progress, requested.map(Millis::new), random);
        let last = *delays.get(retries as usize).unwrap_or(delays.last().unwrap());
        if let RetryDecision::Again { after, counts } = found {
            let wait = after.as_u64();
            prop_assert!(wait <= i32::MAX as u64 && elapsed + wait < total && wait < left);
            prop_assert_eq!(counts, !in_progress);
            match (requested, in_progress) {
                (Some(requested), false) => prop_assert_eq!(wait, requested),
                (Some(requested), true) => prop_assert_eq!(wait, requested.max(1000)),
                (None, false) => prop_assert!(wait <= last && retries < limit),
                (None, true) => prop_assert!((1000..=2000).contains(&wait)),
            }
        }
    }
}

/// Full jitter: the wait can be anything from zero to its limit.
#[test]
fn a_wait_is_random_between_zero_and_its_limit() {
    let of = |random| match next(
        &RetryPolicy::default(),
        &AMBIGUOUS,
        progress(0, seconds(0), LONG),
        None,
        random,
    ) {
        RetryDecision::Again { after, .. } => after.as_u64(),
        stop => panic!("{stop:?}"),
    };
    assert_eq!((of(0), of(1 << 31), of(u32::MAX)), (0, 500, 1000));
}
