//! The headers of a webhook: a message is accepted only if a secret of the source has signed it. The lines of an input
//! are the id, the timestamp and the signatures; the rest is the body.
//!
//! A fuzzer cannot guess a signature. So `{0}` and `{1}` in the signatures stand for the signatures of this message
//! with the two secrets of the source, `{0/16}` for half of the first, `{0~}` for the first with changed bits, and
//! `{2}` for the signature with a secret of another source.

use super::input::line;
use oncekey::webhook::{WebhookError, WebhookMessage, WebhookSecret, sign};
use oncekey::{IdempotencyKey, UnixMillis};
use sha2::{Digest, Sha256};

/// The secrets as text, so that the reference can read them. The last one belongs to another source.
const SECRETS: [&str; 3] = [
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
];
const NOW_SECONDS: u64 = 1_614_265_330;

pub(crate) fn check(bytes: &[u8]) {
    let Some((id, rest)) = line(bytes) else { return };
    let Some((timestamp, rest)) = line(rest) else { return };
    let Some((signatures, body)) = line(rest) else { return };
    let mut signatures = signatures.to_owned();
    let refusal = refusal(id, timestamp, &signatures);
    let mut right = Vec::new();
    // Signatures take most of the time, and a message that is refused earlier needs none.
    if refusal.is_none() {
        for (at, secret) in SECRETS.into_iter().enumerate() {
            let is_stranger = at == 2;
            if is_stranger && !signatures.contains("{2}") {
                continue;
            }
            let mac = mac(secret, id.trim(), timestamp.trim(), body);
            let changed = mac.map(|byte| byte ^ u8::from(byte == mac[31]));
            for (sign, code) in [("}", &mac[..]), ("/16}", &mac[..16]), ("~}", &changed)] {
                let place = format!("{{{at}{sign}");
                signatures = signatures.replace(&place, &format!("v1,{}", base64(code)));
            }
            right.extend((!is_stranger).then(|| format!("v1,{}", base64(&mac))));
        }
    }
    // The one valid spelling of each signature, and the same without its padding.
    let is_right = |signature: &str| {
        right.iter().any(|right| signature == right || signature == right.trim_end_matches('='))
    };
    let expected = match refusal {
        Some(refusal) => Err(refusal),
        None if signatures.trim().split(' ').any(is_right) => Ok(()),
        None => Err(Refusal::BadSignature),
    };

    let secrets =
        [SECRETS[0], SECRETS[1]].map(|text| WebhookSecret::parse(text).expect("a secret"));
    let names = match bytes.len() % 4 {
        0 => ["svix-id", "svix-timestamp", "svix-signature"],
        _ => ["webhook-id", "webhook-timestamp", "webhook-signature"],
    };
    let header = |name: &str| {
        let at = names.iter().position(|known| *known == name)?;
        Some([id, timestamp, &signatures][at])
    };
    let read = WebhookMessage::read(header, UnixMillis::new(NOW_SECONDS * 1000));
    let taken = read.and_then(|message| message.verify(&secrets, body));
    match (&taken, expected) {
        (Ok(key), Ok(())) => assert_eq!(key.as_str(), id.trim()),
        (Err(WebhookError::Missing(_)), Err(Refusal::Missing))
        | (Err(WebhookError::BadId), Err(Refusal::BadId))
        | (Err(WebhookError::BadTime), Err(Refusal::BadTime))
        | (Err(WebhookError::BadSignature), Err(Refusal::BadSignature)) => {}
        _ => panic!("{taken:?}, expected {expected:?}"),
    }
    // The signing function writes the same signature as the reference.
    if let (Some(first), Ok(seconds)) = (right.first(), timestamp.parse::<u64>())
        && seconds.to_string() == timestamp
    {
        assert_eq!(sign(&secrets[0], id.trim(), seconds, body), *first);
    }
}

#[derive(Clone, Copy, Debug)]
enum Refusal {
    Missing,
    BadId,
    BadTime,
    BadSignature,
}

/// Returns the reason if a message is refused before its signatures are checked.
fn refusal(id: &str, timestamp: &str, signatures: &str) -> Option<Refusal> {
    let [id, timestamp, signatures] = [id, timestamp, signatures].map(str::trim);
    if id.is_empty() || timestamp.is_empty() || signatures.is_empty() {
        return Some(Refusal::Missing);
    }
    if id.contains('.') || IdempotencyKey::parse_bare(id).is_err() {
        return Some(Refusal::BadId);
    }
    let digits = timestamp.trim_start_matches('0');
    let is_number = timestamp.chars().all(|digit| digit.is_ascii_digit());
    let seconds = if digits.is_empty() { Some(0) } else { digits.parse::<u64>().ok() };
    let near = NOW_SECONDS - 300..=NOW_SECONDS + 300;
    let is_near = is_number && seconds.is_some_and(|seconds| near.contains(&seconds));
    (!is_near).then_some(Refusal::BadTime)
}

/// Returns the HMAC-SHA256 (RFC 2104) of id, time and body, joined by full stops.
fn mac(secret: &str, id: &str, timestamp: &str, body: &[u8]) -> [u8; 32] {
    let mut key = unbase64(secret.strip_prefix("whsec_").expect("a secret"));
    key.resize(64, 0);
    let pad = |with: u8| key.iter().map(|byte| byte ^ with).collect::<Vec<u8>>();
    let message = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat();
    let inner = Sha256::digest([pad(0x36), message].concat());
    Sha256::digest([&pad(0x5c)[..], &inner[..]].concat()).into()
}

const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes as RFC 4648 §4, bit by bit.
fn base64(bytes: &[u8]) -> String {
    let mut bits: Vec<u8> =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1)).collect();
    bits.resize(bits.len().div_ceil(6) * 6, 0);
    let value = |digit: &[u8]| digit.iter().fold(0, |value, bit| value * 2 + usize::from(*bit));
    let mut text: String =
        bits.chunks(6).map(|digit| char::from(ALPHABET.as_bytes()[value(digit)])).collect();
    text.extend(core::iter::repeat_n('=', text.len().next_multiple_of(4) - text.len()));
    text
}

fn unbase64(text: &str) -> Vec<u8> {
    let digits = text.chars().filter_map(|digit| ALPHABET.find(digit));
    let bits: Vec<usize> =
        digits.flat_map(|digit| (0..6).rev().map(move |at| digit >> at & 1)).collect();
    let value = |byte: &[usize]| byte.iter().fold(0, |value, bit| value * 2 + bit) as u8;
    bits.chunks_exact(8).map(value).collect()
}
