//! The text form of a stored entry.
//!
//! An entry is a line of fields with one space between them. No field contains a space, because a key
//! is visible ASCII.
//!
//! ```text
//! 1 KEY TAG STATE FLAGS ATTEMPTS CREATED UPDATED SAFE SUM
//! 1 0195f2f1-… 9c31e0d2 u m 2 1764000000000 1764000031000 1764082800000 5be0c01f
//! 2 KEY TAG STATE FLAGS ATTEMPTS CREATED UPDATED SAFE SENT SUM
//! 2 0195f2f1-… 9c31e0d2 u mp 2 1764000000000 1764000031000 1764082800000 n,x-api-key:04f1c2aa
//! 1d0be2c3
//! ```
//!
//! | field | |
//! |---|---|
//! | `1`, `2` | the version. In every version the key is the second field and the sum the last. An entry that version 1 can express is written as version 1 |
//! | `TAG`, `SUM` | 8 lower-case hexadecimal digits. The sum is the first 32 bits of the SHA-256 of the text before the space that precedes it |
//! | `STATE` | `p` Prepared, `s` Sending, `u` Unknown, `v` Voided, `+201` Succeeded, `-402` Refused |
//! | `FLAGS` | the flags that are set, in this order: `m` may have been executed, `o` the caller's own key, `p` the server sends proof (since version 2); `.` if none is set |
//! | `SENT` | since version 2: the credential that the key was sent with. `.` not known, `*` several; else `n` without cookies, `c` with the cookies of the key calls, `x` with those of another origin, and for each header a comma, its name, a colon and 8 digits of a hash |
//! | numbers | decimal, no leading zeros; times in milliseconds since 1970 |
//!
//! The sum is a SHA-256 because the tag needs SHA-256 anyway. A CRC would add its tables to the code.

use super::credential::SentBy;
use super::entry::{Entry, EntryError, IntentState};
use super::payload::Tag;
use crate::codec::hex::hex32;
use crate::codec::text::{decimal, digits, hexadecimal, split, split_once};
use crate::key::IdempotencyKey;
use crate::time::UnixMillis;
use sha2::{Digest, Sha256};

/// The version without [`Entry::sends_proof`] and [`Entry::sent_by`].
const FIRST: &str = "1";
const VERSION: &str = "2";

impl Entry {
    /// Returns the text to store, about 150 characters.
    pub fn encode(&self) -> String {
        seal(self.unsealed())
    }

    fn unsealed(&self) -> String {
        let is_first = !self.sends_proof && self.sent_by == SentBy::NotKnown;
        let mut text = String::with_capacity(VERSION.len() + self.key.as_str().len() + 128);
        text.push_str(if is_first { FIRST } else { VERSION });
        put(&mut text, self.key.as_str());
        put(&mut text, &hex32(self.tag.0));
        match self.state {
            IntentState::Prepared => put(&mut text, "p"),
            IntentState::Sending => put(&mut text, "s"),
            IntentState::Unknown => put(&mut text, "u"),
            IntentState::Voided => put(&mut text, "v"),
            IntentState::Succeeded { http_status } => put_status(&mut text, '+', http_status),
            IntentState::Refused { http_status } => put_status(&mut text, '-', http_status),
        }
        text.push(' ');
        for (letter, holds) in self.flags() {
            if holds {
                text.push(letter);
            }
        }
        if text.ends_with(' ') {
            text.push('.');
        }
        put_number(&mut text, u64::from(self.attempts));
        put_number(&mut text, self.created_at.as_u64());
        put_number(&mut text, self.updated_at.as_u64());
        put_number(&mut text, self.safe_until.as_u64());
        if !is_first {
            put(&mut text, &self.sent_by.encode());
        }
        text
    }

    /// Reads what [`Entry::encode`] wrote. Any other text is an error.
    pub fn decode(text: &str) -> Result<Self, EntryError> {
        let sealed = unseal(text).ok_or(EntryError::Damaged)?;
        let (version, fields) = split_once(sealed, b' ').ok_or(EntryError::Damaged)?;
        let entry = matches!(version, FIRST | VERSION).then(|| read(fields)).flatten();
        // Each entry has exactly one text, so a text that would be written differently is damaged.
        entry
            .filter(|entry| entry.is_possible() && entry.unsealed() == sealed)
            .ok_or_else(|| newer(version, fields).unwrap_or(EntryError::Damaged))
    }

    fn flags(&self) -> [(char, bool); 3] {
        [('m', self.maybe_executed), ('o', self.own_key), ('p', self.sends_proof)]
    }

    /// Returns whether an intent can be in this state.
    fn is_possible(&self) -> bool {
        match self.state {
            IntentState::Prepared => !self.maybe_executed,
            IntentState::Sending => self.attempts > 0,
            IntentState::Unknown => self.attempts > 0 && self.maybe_executed,
            IntentState::Succeeded { http_status } => {
                self.attempts > 0 && matches!(http_status, 200..400)
            }
            IntentState::Refused { http_status } => {
                self.attempts > 0 && matches!(http_status, 400..500)
            }
            IntentState::Voided => true,
        }
    }
}

fn read(fields: &str) -> Option<Entry> {
    let mut fields = split(fields, b' ');
    let mut next = || fields.next();
    let key = IdempotencyKey::parse_bare(next()?).ok()?;
    let tag = Tag(hexadecimal(next()?)?.try_into().ok()?);
    let state = match next()? {
        "p" => IntentState::Prepared,
        "s" => IntentState::Sending,
        "u" => IntentState::Unknown,
        "v" => IntentState::Voided,
        status => match status.split_at_checked(1)? {
            ("+", status) => {
                IntentState::Succeeded { http_status: decimal(status)?.try_into().ok()? }
            }
            ("-", status) => {
                IntentState::Refused { http_status: decimal(status)?.try_into().ok()? }
            }
            _ => return None,
        },
    };
    let flags = next()?;
    let has = |letter| flags.as_bytes().contains(&letter);
    let attempts = decimal(next()?)?.try_into().ok()?;
    let mut time = || decimal(next()?).map(UnixMillis::new);
    let (created_at, updated_at, safe_until) = (time()?, time()?, time()?);
    let sent_by = match fields.next() {
        Some(text) => SentBy::decode(text)?,
        None => SentBy::NotKnown,
    };
    let entry = Entry {
        key,
        tag,
        state,
        attempts,
        maybe_executed: has(b'm'),
        own_key: has(b'o'),
        sends_proof: has(b'p'),
        sent_by,
        created_at,
        updated_at,
        safe_until,
    };
    fields.next().is_none().then_some(entry)
}

fn newer(version: &str, fields: &str) -> Option<EntryError> {
    let is_newer = decimal(version).is_some_and(|version| matches!(version, 2..=0xffff_ffff));
    let (key, _) = split_once(fields, b' ')?;
    let key = IdempotencyKey::parse_bare(key).ok()?;
    is_newer.then_some(EntryError::NewerVersion { key })
}

pub(super) fn put(text: &mut String, field: &str) {
    text.push(' ');
    text.push_str(field);
}

pub(super) fn put_number(text: &mut String, number: u64) {
    put(text, &digits(number));
}

fn put_status(text: &mut String, sign: char, status: u16) {
    text.push(' ');
    text.push(sign);
    text.push_str(&digits(status.into()));
}

/// Adds the sum.
pub(super) fn seal(mut text: String) -> String {
    let sum = hex32(sum(&text));
    put(&mut text, &sum);
    text
}

/// Returns the text without its sum; `None` if the sum is wrong.
pub(super) fn unseal(text: &str) -> Option<&str> {
    let space = text.bytes().rposition(|byte| byte == b' ')?;
    let (sealed, found) = (text.get(..space)?, text.get(space + 1..)?);
    (hex32(sum(sealed)) == found).then_some(sealed)
}

fn sum(text: &str) -> u32 {
    let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(text.as_bytes()));
    u32::from_be_bytes([a, b, c, d])
}
