//! Intents in every state and at every age, by the words of the tables. `not_executed` is the state Prepared
//! after an attempt that was not executed. `in_time` is the last millisecond in which the server
//! certainly remembers the key, `old` the first in which it may have forgotten it, `back` means that the clock was set
//! back by more than an hour.

use super::requests::{NOW, SAFE, entry_in, fresh_entry, key, payload};
use crate::support::lifecycle::situations::Words;
use oncekey::Millis;
use oncekey::client::intent::{Entry, EntryError, IntentState, Stored};

pub(crate) const AGES: &[&str] = &["in_time", "old", "back"];

pub(crate) fn stored(name: &str, age: &str, maybe: &str) -> Stored {
    let payload = payload("this");
    let first = NOW.minus(SAFE).plus(Millis::new(1));
    let first = match age {
        "in_time" => first,
        "old" => first.minus(Millis::new(1)),
        "back" => NOW.plus(Millis::from_seconds(3600)).plus(Millis::new(1)),
        other => panic!("no age is {other}"),
    };
    let state = match name {
        "nothing" => return Stored::Nothing,
        "damaged" => return Stored::Unreadable(EntryError::Damaged),
        "newer" => return Stored::Unreadable(EntryError::NewerVersion { key: key("k") }),
        "prepared" => return Stored::Entry(fresh_entry(&payload, first)),
        "not_executed" => IntentState::Prepared,
        "sending" => IntentState::Sending,
        "unknown" => IntentState::Unknown,
        "succeeded" => IntentState::Succeeded { http_status: 201 },
        "refused" => IntentState::Refused { http_status: 402 },
        "voided" => IntentState::Voided,
        other => panic!("no state is {other}"),
    };
    let entry = entry_in(state, &payload, first);
    let maybe_executed = entry.maybe_executed || maybe == "yes";
    Stored::Entry(Entry { attempts: 2, maybe_executed, ..entry })
}

pub(crate) fn word(words: &Words, column: &str) -> &'static str {
    words.iter().find(|(name, _)| *name == column).expect("a column").1
}

pub(crate) const ALL: &[&str] = &[
    "nothing",
    "prepared",
    "not_executed",
    "sending",
    "unknown",
    "succeeded",
    "refused",
    "voided",
    "damaged",
    "newer",
];
