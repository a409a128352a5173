//! What the form guard does with each event in each state. Every cell is checked.

use crate::support::form_guard::{EVENTS, STATES};
use oncekey::client::form_guard::{FormAction, FormEvent, Press, Presses, next};

const TABLE: &str = "
    Submit     | Go Held | Swallow      | Swallow          | Go Held      | Swallow
    Repeat     | Swallow | Swallow      | Swallow          | Go Held      | Swallow
    KeyPending | Keep    | Keep Waiting | Keep             | Keep         | Keep
    Resubmit   | Keep    | Keep         | Resend Resending | Keep         | Keep
    Succeeded  | Keep    | Finish Done  | Finish Done      | Finish Done  | Keep
    Done       | Finish Done | Finish Done | Finish Done   | Finish Done  | Keep
    Failed     | Keep    | Restore Free | Restore Free     | Restore Free | Keep
    Cancelled  | Keep    | Restore Free | Restore Free     | Restore Free | Keep
    Shown      | Keep    | Restore Free | Restore Free     | Restore Free | Restore Free
    Release    | Keep    | Restore Free | Restore Free     | Restore Free | Restore Free
";

#[test]
fn each_event_in_each_state_does_what_the_table_says() {
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

/// The table in the module's documentation agrees with the code.
#[test]
fn the_table_in_the_documentation_is_correct() {
    let source = include_str!("../../src/client/form_guard.rs");
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
                    (FormAction::Keep, true) => "–".to_owned(),
                    (FormAction::Keep, false) => format!("→ {after:?}"),
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
fn of_two_submits_only_one_is_sent_after_any_events() {
    for state in STATES {
        let (after, _) = next(state, FormEvent::Submit);
        assert_eq!(next(after, FormEvent::Submit), (after, FormAction::Swallow));
    }
}

#[test]
fn every_end_of_a_call_is_recognized_by_its_name() {
    assert_eq!(FormEvent::of_outcome("succeeded"), Some(FormEvent::Succeeded));
    for word in ["refused", "unknown", "failed"] {
        assert_eq!(FormEvent::of_outcome(word), Some(FormEvent::Failed));
    }
    assert_eq!(FormEvent::of_outcome("Succeeded"), None);
    assert_eq!(FormEvent::of_outcome(""), None);
}

/// Returns which presses of a sequence are repeats. A submit follows each press in its task.
fn repeats(presses: &[Press]) -> Vec<bool> {
    let mut known = Presses::default();
    presses
        .iter()
        .map(|press| {
            known.pressed(*press);
            let event = known.submit();
            known.over();
            event == FormEvent::Repeat
        })
        .collect()
}

#[test]
fn only_the_first_click_of_a_double_click_is_a_submit() {
    use Press::{Click, ClickAgain, ClickByKey, Scripted, ScriptedAgain};
    assert_eq!(repeats(&[Click, ClickAgain, ClickAgain]), [false, true, true]);
    assert_eq!(repeats(&[Click, Click, ClickAgain, Click]), [false, false, true, false]);
    // Clicks by assistive technology have no click count.
    assert_eq!(repeats(&[ClickByKey, ClickByKey]), [false, false]);
    assert_eq!(
        repeats(&[Scripted, Scripted, Scripted, ScriptedAgain]),
        [false, false, false, true]
    );
}

#[test]
fn only_the_first_repeat_of_a_held_key_is_a_submit() {
    use Press::{ClickByKey, Key, KeyDown, KeyHeld};
    assert_eq!(repeats(&[KeyDown, KeyHeld, KeyHeld, KeyDown]), [false, true, true, false]);
    // The submit follows the press of the key, its release, or a click of the button.
    assert_eq!(repeats(&[KeyDown, Key, Key]), [false, true, true]);
    let mut presses = Presses::default();
    presses.pressed(KeyDown);
    presses.pressed(ClickByKey);
    assert_eq!(presses.submit(), FormEvent::Submit);
    presses.pressed(KeyHeld);
    presses.pressed(ClickByKey);
    assert_eq!(presses.submit(), FormEvent::Repeat);
}

#[test]
fn a_second_click_is_a_submit_if_the_first_click_was_not() {
    let mut presses = Presses::default();
    presses.pressed(Press::Click);
    presses.over();
    presses.pressed(Press::ClickAgain);
    assert_eq!(presses.submit(), FormEvent::Submit);
    presses.over();
    presses.pressed(Press::ClickAgain);
    assert_eq!(presses.submit(), FormEvent::Repeat);
}

#[test]
fn a_click_by_a_handler_belongs_to_the_click_that_it_handles() {
    let mut presses = Presses::default();
    let mut both = |press| {
        presses.pressed(press);
        presses.pressed(Press::Scripted);
        let event = presses.submit();
        presses.over();
        event
    };
    assert_eq!(
        [both(Press::Click), both(Press::ClickAgain), both(Press::Click)],
        [FormEvent::Submit, FormEvent::Repeat, FormEvent::Submit]
    );
}

#[test]
fn a_submit_after_the_task_of_a_press_does_not_belong_to_it() {
    let mut presses = Presses::default();
    presses.pressed(Press::Click);
    assert_eq!(presses.submit(), FormEvent::Submit);
    presses.over();
    assert_eq!([presses.submit(), presses.submit()], [FormEvent::Submit; 2]);
}
