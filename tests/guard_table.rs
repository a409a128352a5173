//! What the guard of a form does with each event in each state. Every cell is checked.

#![cfg(not(target_arch = "wasm32"))]

use oncekey::guard::{Decision, Event, State, next};

const STATES: [State; 5] =
    [State::Free, State::Held, State::Waiting, State::Resending, State::Done];

const TABLE: &str = "
    Submit     | Go Held | Swallow      | Swallow          | Go Held      | Swallow
    KeyPending | Keep    | Keep Waiting | Keep             | Keep         | Keep
    Resubmit   | Keep    | Keep         | Resend Resending | Keep         | Keep
    Succeeded  | Keep    | Keep Done    | Keep Done        | Keep Done    | Keep
    Failed     | Keep    | Restore Free | Restore Free     | Restore Free | Keep
    Cancelled  | Keep    | Restore Free | Restore Free     | Restore Free | Keep
    Shown      | Keep    | Restore Free | Restore Free     | Restore Free | Restore Free
    Release    | Keep    | Restore Free | Restore Free     | Restore Free | Restore Free
";

const EVENTS: [Event; 8] = [
    Event::Submit,
    Event::KeyPending,
    Event::Resubmit,
    Event::Succeeded,
    Event::Failed,
    Event::Cancelled,
    Event::Shown,
    Event::Release,
];

#[test]
fn every_cell() {
    let lines: Vec<_> = TABLE.lines().filter(|line| !line.trim().is_empty()).collect();
    assert_eq!(lines.len(), EVENTS.len());
    for (line, event) in lines.into_iter().zip(EVENTS) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        assert_eq!(cells[0], format!("{event:?}"));
        assert_eq!(cells.len(), 1 + STATES.len());
        for (cell, state) in cells[1..].iter().zip(STATES) {
            let (after, decision) = next(state, event);
            let found = if after == state {
                format!("{decision:?}")
            } else {
                format!("{decision:?} {after:?}")
            };
            assert_eq!(found, *cell, "{event:?} in {state:?}");
        }
    }
}

/// Every row of the module's own table says the same.
#[test]
fn the_table_of_the_documentation() {
    let source = include_str!("../src/guard.rs");
    let mut rows = 0;
    for line in source.lines().filter_map(|line| line.strip_prefix("//! | ")) {
        let cells: Vec<_> = line.trim_end_matches('|').split('|').map(str::trim).collect();
        for event in EVENTS {
            if !cells[0].split(", ").any(|name| name == format!("{event:?}")) {
                continue;
            }
            rows += 1;
            for (cell, state) in cells[1..].iter().zip(STATES) {
                let (after, decision) = next(state, event);
                let found = match (decision, after == state) {
                    (Decision::Keep, true) => "–".to_owned(),
                    (Decision::Keep, false) => format!("→ {after:?}"),
                    (_, true) => format!("{decision:?}"),
                    (_, false) => format!("{decision:?} → {after:?}"),
                };
                assert_eq!(found, *cell, "{event:?} in {state:?}");
            }
        }
    }
    assert_eq!(rows, EVENTS.len());
}

#[test]
fn of_two_submits_only_one_goes_whatever_happened_before() {
    for state in STATES {
        let (after, _) = next(state, Event::Submit);
        assert_eq!(next(after, Event::Submit), (after, Decision::Swallow));
    }
}

#[test]
fn the_words_for_an_end() {
    assert_eq!(Event::of_outcome("succeeded"), Some(Event::Succeeded));
    for word in ["refused", "unknown", "failed"] {
        assert_eq!(Event::of_outcome(word), Some(Event::Failed));
    }
    assert_eq!(Event::of_outcome("Succeeded"), None);
    assert_eq!(Event::of_outcome(""), None);
}
