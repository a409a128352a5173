//! The content of a page's storage: any text is an entry, a tab lease or unreadable, and never counts as
//! absent. A text that is read is written again in the same way, and the results of the intent's calls can be read.
//!
//! Generated text would never pass the checksum. So each input is read unchanged, and once more with a valid checksum.

use oncekey::client::intent::{
    Entry, EntryError, IntentState, Payload, Start, Stored, Submit, TabLease, note_outcome,
    note_sending, start,
};
use oncekey::client::retry::Outcome;
use oncekey::fingerprint::RequestParts;
use oncekey::{IdempotencyKey, Millis, UnixMillis};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

const NOW: UnixMillis = UnixMillis::new(1_764_000_000_000);
const RETENTION: Millis = Millis::from_days(1);

pub(crate) fn check(bytes: &[u8]) {
    let text = &String::from_utf8_lossy(bytes)[..];
    for text in [text, &sealed(text)] {
        let is_sealed = text.rsplit_once(' ').is_some_and(|(start, _)| sealed(start) == text);
        let fields: Vec<&str> = text.split(' ').collect();
        let entry = Entry::decode(text);
        match &entry {
            Ok(entry) => assert!(is_sealed && is_entry(&fields) && entry.encode() == text),
            Err(EntryError::NewerVersion { key }) => {
                let version = fields[0].trim_start_matches('+').trim_start_matches('0');
                assert!(
                    is_sealed && version != "1" && !version.is_empty() && key.as_str() == fields[1]
                );
            }
            Err(_) => assert!(!is_sealed || !is_entry(&fields), "{text:?}"),
        }
        if let Some(lease) = TabLease::decode(text) {
            assert!(is_sealed && entry.is_err() && lease.encode() == text);
        }
        let stored = Stored::read(Some(text));
        check_stored(&stored);
        if stored != Stored::Nothing && entry.is_err() {
            assert!(
                stored.is_pending() && !stored.is_spent(),
                "an unreadable entry may belong to a payment"
            );
        }
    }
}

fn sealed(text: &str) -> String {
    let sum = Sha256::digest(text.as_bytes());
    format!("{text} {:02x}{:02x}{:02x}{:02x}", sum[0], sum[1], sum[2], sum[3])
}

/// Returns whether the fields of a text with a valid checksum are those of an entry.
fn is_entry(fields: &[&str]) -> bool {
    let ["1", key, tag, state, flags, attempts, created, updated, safe, _] = fields[..] else {
        return false;
    };
    let is_number = |text: &str, largest: u64| {
        text.parse::<u64>().is_ok_and(|number| number <= largest && number.to_string() == text)
    };
    let is_hex = |digit: char| digit.is_ascii_digit() || ('a'..='f').contains(&digit);
    let was_sent = attempts != "0";
    let maybe = flags.contains('m');
    let is_status = |text: &str, first: char, hundreds: &[char]| {
        text.len() == 4
            && text.starts_with(first)
            && text[1..].starts_with(hundreds)
            && text[1..].chars().all(|digit| digit.is_ascii_digit())
    };
    let is_state = match state {
        "p" => !maybe,
        "s" => was_sent,
        "u" => was_sent && maybe,
        "v" => true,
        _ => was_sent && (is_status(state, '+', &['2', '3']) || is_status(state, '-', &['4'])),
    };
    IdempotencyKey::parse_bare(key).is_ok()
        && tag.len() == 8
        && tag.chars().all(is_hex)
        && is_state
        && [".", "m", "o", "mo"].contains(&flags)
        && is_number(attempts, u32::MAX.into())
        && [created, updated, safe].iter().all(|time| is_number(time, u64::MAX))
}

fn check_stored(stored: &Stored) {
    // Without an entry, the time makes no difference.
    let times = match stored {
        Stored::Entry(_) => &[0, NOW.as_u64(), u64::MAX][..],
        _ => &[NOW.as_u64()],
    };
    let submit = Submit {
        payload: &PAYLOAD,
        own_key: None,
        waited_since: None,
        retention: RETENTION,
        random: [7; 16],
    };
    for now in times.iter().copied().map(UnixMillis::new) {
        let begun = start(stored, &submit, now);
        let Stored::Entry(entry) = stored else {
            let is_refused = matches!(begun, Start::Unreadable(_));
            assert!(is_refused, "an unreadable entry is not replaced by a new key");
            continue;
        };
        if let Start::Send { entry: sent, fresh } = &begun {
            // No second key is made while an outcome is unknown.
            let is_open = matches!(entry.state, IntentState::Sending | IntentState::Unknown);
            assert!(!fresh || !is_open);
            check_kept(sent);
        }
        if let Ok(sending) = note_sending(stored, &entry.key, RETENTION, now) {
            check_kept(&sending);
            let outcomes = [
                Outcome::Succeeded { http_status: 201 },
                Outcome::Refused { http_status: 402 },
                Outcome::InProgress,
                Outcome::KeyVoided,
            ];
            let (attempt, stored) = (sending.attempts, Stored::Entry(sending));
            for outcome in outcomes {
                let noted = note_outcome(&stored, &entry.key, attempt, &outcome, now);
                if let Some(noted) = noted {
                    check_kept(&noted);
                }
            }
        }
        let _ = entry.time_left(now);
    }
}

fn check_kept(entry: &Entry) {
    assert_eq!(Entry::decode(&entry.encode()).as_ref(), Ok(entry));
}

static PAYLOAD: LazyLock<Payload> = LazyLock::new(|| {
    let parts = RequestParts {
        method: "POST",
        path: "/v1/orders",
        query: None,
        content_encoding: None,
        content_type: Some("application/json"),
        body: b"{\"amount\":1}",
        ignore: &[],
    };
    Payload::of("https://api.example", &parts)
});
