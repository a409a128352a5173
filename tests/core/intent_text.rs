//! The texts that are stored for an intent and for a tab lease, and which other texts are refused.

use crate::support::client::requests::{NOW, RETENTION, entry_in, key, parts, payload};
use oncekey::client::intent::{
    Cookies, Credential, Entry, EntryError, IntentState, Payload, SentBy, Stored, TabLease,
    TabToken,
};
use oncekey::fingerprint::RequestParts;
use oncekey::{IdempotencyKey, JsonPointer, Millis, UnixMillis};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

const STATES: [IntentState; 6] = [
    IntentState::Prepared,
    IntentState::Sending,
    IntentState::Unknown,
    IntentState::Succeeded { http_status: 201 },
    IntentState::Refused { http_status: 402 },
    IntentState::Voided,
];

fn entry() -> impl Strategy<Value = Entry> {
    let numbers = (any::<u32>(), any::<u64>(), any::<u64>(), any::<u64>());
    let server = (any::<bool>(), 0..5_usize);
    ("[!#-+\\--~]{1,255}", 0..6_usize, any::<bool>(), any::<bool>(), numbers, server).prop_map(
        |(text, state, maybe, own_key, (attempts, created, updated, safe), (proof, sent))| {
            let headers = [("x-api-key", "one"), ("Authorization", "Basic b25l")];
            let one = |cookies, count| {
                SentBy::One(
                    Credential::new(cookies, headers.into_iter().take(count)).mark(&key(&text)),
                )
            };
            let entry = entry_in(STATES[state], &payload("this"), NOW);
            Entry {
                key: key(&text),
                attempts: attempts.max(1),
                maybe_executed: entry.maybe_executed || (maybe && state != 0),
                own_key,
                sends_proof: proof,
                sent_by: match sent {
                    0 => SentBy::NotKnown,
                    1 => SentBy::Several,
                    2 => one(Cookies::None, 1),
                    3 => one(Cookies::Same, 0),
                    _ => one(Cookies::Elsewhere, 2),
                },
                created_at: UnixMillis::new(created),
                updated_at: UnixMillis::new(updated),
                safe_until: UnixMillis::new(safe),
                ..entry
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_entry_can_be_read_again(entry in entry()) {
        prop_assert_eq!(Entry::decode(&entry.encode()), Ok(entry));
    }

    #[test]
    fn a_changed_text_is_damaged(entry in entry(), place in any::<prop::sample::Index>(), other in "[ -~]") {
        let text = entry.encode();
        let at = place.index(text.len());
        let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
        if changed != text {
            prop_assert_eq!(Entry::decode(&changed), Err(EntryError::Damaged));
        }
        prop_assert_eq!(Entry::decode(&text[..at]), Err(EntryError::Damaged));
    }

    #[test]
    fn no_text_causes_a_panic(text in "\\PC*") {
        let _ = Entry::decode(&text);
        let _ = TabLease::decode(&text);
    }

    #[test]
    fn every_tab_lease_can_be_read_again(tab in any::<u64>(), until in any::<u64>()) {
        let lease = TabLease { tab: TabToken::new(tab), until: UnixMillis::new(until) };
        prop_assert_eq!(TabLease::decode(&lease.encode()), Some(lease));
    }
}

/// The text that pages have stored must be readable in all later versions.
#[test]
fn texts_of_version_1_are_still_read() {
    let unknown = entry_in(IntentState::Unknown, &payload("this"), NOW);
    let text = unknown.encode();
    assert_eq!(
        text,
        "1 019ab697-e800-7707-8707-070707070707 8b9ae2a7 u m 1 1764000000000 1764000000000 1764082800000 9591f7c5"
    );
    let lease = TabLease { tab: TabToken::new(0xabc), until: NOW };
    assert_eq!(lease.encode(), "c1 0000000000000abc 1764000000000 a53885d6");
}

/// These texts have a correct checksum, and must be refused for another reason.
#[test]
fn an_entry_that_the_lifecycle_cannot_produce_is_damaged() {
    let good = entry_in(IntentState::Unknown, &payload("this"), NOW);
    let succeeded = IntentState::Succeeded { http_status: 201 };
    for wrong in [
        Entry { maybe_executed: false, ..good.clone() },
        Entry { attempts: 0, ..good.clone() },
        Entry { state: IntentState::Prepared, ..good.clone() },
        Entry { state: IntentState::Sending, attempts: 0, ..good.clone() },
        Entry { state: succeeded, attempts: 0, ..good.clone() },
        Entry { state: IntentState::Refused { http_status: 402 }, attempts: 0, ..good.clone() },
        Entry { state: IntentState::Succeeded { http_status: 402 }, ..good.clone() },
        Entry { state: IntentState::Refused { http_status: 201 }, ..good.clone() },
        Entry { state: IntentState::Refused { http_status: 500 }, ..good.clone() },
    ] {
        assert_eq!(Entry::decode(&wrong.encode()), Err(EntryError::Damaged), "{wrong:?}");
    }
    assert_eq!(Entry::decode(&good.encode()), Ok(good));
}

#[test]
fn garbage_never_counts_as_an_absent_entry() {
    for text in ["", " ", "null", "{}", "1", "[object Object]", "1 k", "ok", "019ab698-2980-7707"] {
        assert_eq!(Stored::read(Some(text)), Stored::Unreadable(EntryError::Damaged), "{text:?}");
    }
    assert_eq!(Stored::read(None), Stored::Nothing);
}

/// Every version begins with the version and the key, and ends with the checksum.
#[test]
fn the_key_in_an_entry_of_a_newer_version_can_be_read() {
    assert_eq!(
        Entry::decode("2 order-1042 whatever comes then 3fa1a1a0"),
        Err(EntryError::Damaged),
        "the checksum is checked, too"
    );
    let sealed = sealed("2 order-1042 whatever comes then");
    let found = Entry::decode(&sealed);
    assert_eq!(found, Err(EntryError::NewerVersion { key: key("order-1042") }));
    assert!(Stored::read(Some(&sealed)).is_pending());
    for old in ["0 order-1042 x", "01 order-1042 x", "x order-1042 x", "2 k"] {
        assert_eq!(Entry::decode(&self::sealed(old)), Err(EntryError::Damaged), "{old}");
    }
}

fn sealed(text: &str) -> String {
    use sha2::{Digest, Sha256};
    let sum = Sha256::digest(text.as_bytes());
    format!("{text} {:02x}{:02x}{:02x}{:02x}", sum[0], sum[1], sum[2], sum[3])
}

#[test]
fn only_32_bits_of_a_body_are_stored() {
    let card = payload(r#"{"card":{"number":"4242424242424242"}}"#);
    let text = entry_in(IntentState::Sending, &card, NOW).encode();
    assert!(!text.contains("4242"), "{text}");
    assert!(text.len() < 130, "{}", text.len());
    assert_eq!(format!("{card:?}"), "Payload(…)");
}

#[test]
fn only_settled_old_entries_can_be_removed() {
    let of = |state, updated_at, safe_until| {
        let mut entry = entry_in(state, &payload("{}"), NOW);
        (entry.updated_at, entry.safe_until) = (updated_at, safe_until);
        Stored::Entry(entry)
    };
    let settled = [
        IntentState::Succeeded { http_status: 201 },
        IntentState::Refused { http_status: 402 },
        IntentState::Voided,
    ];
    let end = NOW.plus(RETENTION);
    let just_before = end.minus(Millis::new(1));
    let years_later = NOW.plus(Millis::from_days(400));
    for state in settled {
        assert!(!of(state, NOW, NOW).is_over(RETENTION, just_before));
        assert!(of(state, NOW, NOW).is_over(RETENTION, end));
        assert!(of(state, NOW, NOW).is_over(RETENTION, years_later));
        // The server remembers it for longer than the client assumes, because of an older setting.
        assert!(!of(state, NOW, years_later).is_over(RETENTION, end));
        // The clock was set back, so the age is unknown.
        assert!(!of(state, years_later, NOW).is_over(RETENTION, end));
    }
    for state in [IntentState::Prepared, IntentState::Sending, IntentState::Unknown] {
        assert!(!of(state, NOW, NOW).is_over(RETENTION, years_later), "{state:?}");
    }
    assert!(!Stored::Nothing.is_over(RETENTION, years_later));
    assert!(!Stored::read(Some("damaged")).is_over(RETENTION, years_later));
}

#[test]
fn a_tag_depends_on_the_target_the_payload_and_the_key() {
    let this = RequestParts { query: Some("a=1"), ..parts(r#"{"amount":1,"note":"x"}"#) };
    let origin = "https://api.example";
    let one = key("k-1");
    let tag = |origin, parts: &RequestParts<'_>, key: &IdempotencyKey| {
        Payload::of(origin, parts).tag(key)
    };
    let same = RequestParts { body: br#"{ "note":"x", "amount":1.0 }"#, ..this };
    assert_eq!(tag(origin, &this, &one), tag(origin, &same, &one), "the spelling does not matter");
    for other in [
        RequestParts { method: "PUT", ..this },
        RequestParts { path: "/v1/refunds", ..this },
        RequestParts { query: None, ..this },
        RequestParts { content_type: Some("text/plain"), ..this },
        RequestParts { body: br#"{"amount":2,"note":"x"}"#, ..this },
    ] {
        assert_ne!(tag(origin, &this, &one), tag(origin, &other, &one), "{other:?}");
    }
    assert_ne!(tag(origin, &this, &one), tag("https://other.example", &this, &one));
    assert_ne!(tag(origin, &this, &one), tag(origin, &this, &key("k-2")), "the key is its salt");
}

#[test]
fn a_payload_that_the_platform_hashes_is_the_same() {
    let origin = "https://api.example";
    let ignore = [JsonPointer::parse("/note").unwrap()];
    let multipart = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--\r\n";
    for (content_type, body, is_raw) in [
        (None, "", true),
        (None, "\0é", true),
        (Some("text/plain; charset=utf-8"), "{}", true),
        (Some("application/octet-stream"), "a=1", true),
        (Some("application/json"), r#"{"b":1.0,"note":2,"a":"x"}"#, false),
        (Some("application/problem+json"), "{", false),
        (Some("application/x-www-form-urlencoded"), "a=1&_token=2", false),
        (Some("application/x-form"), "a=1", false),
        (Some("multipart/form-data; boundary=b"), multipart, false),
        (Some("multipart/mixed"), multipart, false),
    ] {
        let parts = RequestParts { content_type, ignore: &ignore, ..parts(body) };
        let preimage = Payload::preimage(&parts);
        let digest = Sha256::digest(&preimage).into();
        assert_eq!(Payload::of_digest(origin, &digest), Payload::of(origin, &parts), "{parts:?}");
        let before = Payload::preimage_before_body(&parts);
        let whole = before.map(|before| [&before[..], body.as_bytes()].concat());
        assert_eq!(whole, is_raw.then_some(preimage), "{parts:?}");
    }
}
