//! Incoming webhooks: their source, and whether they are signed.
use oncekey::webhook::{
    Sources, SourcesError, WebhookError, WebhookMessage, WebhookSecret, is_inbound, sign,
};
use oncekey::{IdempotencyKey, Millis, UnixMillis};
use proptest::prelude::*;

// The example in the tests of the reference implementation.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const SECONDS: u64 = 1_614_265_330;
const BODY: &[u8] = br#"{"test": 2432232314}"#;
const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
const FOREIGN: &str = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=";

type Headers<'a> = [(&'a str, &'a str)];

fn now() -> UnixMillis {
    UnixMillis::new(SECONDS * 1000)
}

fn secret(text: &str) -> WebhookSecret {
    WebhookSecret::parse(text).unwrap()
}

fn verify_at(
    headers: &Headers<'_>,
    secrets: &[WebhookSecret],
    body: &[u8],
    now: UnixMillis,
) -> Result<IdempotencyKey, WebhookError> {
    let header = |name: &str| {
        let found = headers.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value)
    };
    WebhookMessage::read(header, now)?.verify(secrets, body)
}

fn verify(headers: &Headers<'_>) -> Result<IdempotencyKey, WebhookError> {
    verify_at(headers, &[secret(SECRET)], BODY, now())
}

fn signed_by(signatures: &str) -> Result<IdempotencyKey, WebhookError> {
    let timestamp = SECONDS.to_string();
    verify(&[
        ("webhook-id", ID),
        ("webhook-timestamp", &timestamp),
        ("webhook-signature", signatures),
    ])
}

/// Verifies a message with this id and timestamp and a correct signature.
fn with(id: &str, timestamp: &str, now: UnixMillis) -> Result<IdempotencyKey, WebhookError> {
    let secrets = [secret(SECRET)];
    let seconds = timestamp.parse().unwrap_or(SECONDS);
    let signature = sign(&secrets[0], id, seconds, BODY);
    let headers = [
        ("webhook-id", id),
        ("webhook-timestamp", timestamp),
        ("webhook-signature", signature.as_str()),
    ];
    verify_at(&headers, &secrets, BODY, now)
}

#[test]
fn the_published_example_is_accepted() {
    assert_eq!(signed_by(SIGNATURE).unwrap().as_str(), ID);
}

#[test]
fn one_valid_signature_of_several_is_enough_in_any_order() {
    for signatures in [
        format!("{FOREIGN} {} {SIGNATURE} {FOREIGN}", FOREIGN.replace("v1", "v2")),
        format!("{SIGNATURE} {FOREIGN}"),
        format!("v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw== {SIGNATURE}"),
        format!("  {SIGNATURE}  "),
        SIGNATURE.trim_end_matches('=').to_owned(),
    ] {
        assert!(signed_by(&signatures).is_ok(), "{signatures}");
    }
}

#[test]
fn a_signature_of_another_message_is_refused() {
    let code = SIGNATURE.strip_prefix("v1,").unwrap();
    for signatures in [
        FOREIGN.to_owned(),
        "v1,".to_owned(),
        SIGNATURE[..8].to_owned(),
        code.to_owned(),
        format!("v2,{code}"),
        format!("v1a,{code}"),
        format!("V1,{code}"),
        format!("v1={code}"),
        format!("v1, {code}"),
        format!("v1,{code},{code}"),
        format!("v1,{}", code.replace('+', "-")),
        format!("v1,{}AA", code.trim_end_matches('=')),
        "v1,dawfeoifkpqwoekfpqoekf".to_owned(),
        "v1,é".to_owned(),
        ",".to_owned(),
    ] {
        assert_eq!(signed_by(&signatures), Err(WebhookError::BadSignature), "{signatures}");
    }
}

#[test]
fn any_secret_of_the_source_is_accepted_and_no_other() {
    let timestamp = SECONDS.to_string();
    let headers =
        [("webhook-id", ID), ("webhook-timestamp", &timestamp), ("webhook-signature", SIGNATURE)];
    let verify = |secrets: &[WebhookSecret]| verify_at(&headers, secrets, BODY, now());
    assert!(verify(&[secret(OTHER), secret(SECRET)]).is_ok());
    assert!(verify(&[secret(SECRET), secret(OTHER)]).is_ok());
    assert_eq!(verify(&[secret(OTHER)]), Err(WebhookError::BadSignature));
    assert_eq!(verify(&[]), Err(WebhookError::BadSignature));
}

#[test]
fn each_header_is_required() {
    let timestamp = SECONDS.to_string();
    let all =
        [("webhook-id", ID), ("webhook-timestamp", &timestamp), ("webhook-signature", SIGNATURE)];
    for left_out in 0..all.len() {
        let mut headers = all.to_vec();
        let (name, _) = headers.remove(left_out);
        assert_eq!(verify(&headers), Err(WebhookError::Missing(name)));
        for empty in ["", " "] {
            headers.push((name, empty));
            assert_eq!(verify(&headers), Err(WebhookError::Missing(name)));
            headers.pop();
        }
    }
    assert_eq!(verify(&[]), Err(WebhookError::Missing("webhook-id")));
}

#[test]
fn the_older_header_names_are_accepted_only_together() {
    let timestamp = SECONDS.to_string();
    let older = [("svix-id", ID), ("svix-timestamp", &timestamp), ("svix-signature", SIGNATURE)];
    assert!(verify(&older).is_ok());
    assert_eq!(verify(&older[..2]), Err(WebhookError::Missing("svix-signature")));
    let mixed = [("webhook-id", ID), older[1], older[2]];
    assert_eq!(verify(&mixed), Err(WebhookError::Missing("webhook-timestamp")));
}

#[test]
fn an_id_is_a_key_without_full_stops() {
    let taken = ["a", "evt_1", "!#$%&'()*+,-/:;<=>?@[]^_`{|}~", &"a".repeat(255), ID];
    let timestamp = SECONDS.to_string();
    for id in taken {
        assert_eq!(with(id, &timestamp, now()).unwrap().as_str(), id);
    }
    for id in ["a b", "a, a", "a,", "\"a\"", "é", "a\u{7f}", "a.b", ".", &"a".repeat(256)] {
        assert_eq!(with(id, &timestamp, now()), Err(WebhookError::BadId), "{id}");
    }
}

#[test]
fn two_messages_never_have_the_same_signed_bytes() {
    // `a.1.2.b` as the id `a` at 1 with the body `2.b`, and as the id `a.1` at 2 with the body `b`.
    let secrets = [secret(SECRET)];
    let body = [SECONDS.to_string().as_bytes(), b".b"].concat();
    let signature = sign(&secrets[0], "a", SECONDS, &body);
    let timestamp = SECONDS.to_string();
    let id = format!("a.{timestamp}");
    let honest = [
        ("webhook-id", "a"),
        ("webhook-timestamp", &timestamp),
        ("webhook-signature", signature.as_str()),
    ];
    assert!(verify_at(&honest, &secrets, &body, now()).is_ok());
    let forged = [("webhook-id", id.as_str()), honest[1], honest[2]];
    assert_eq!(verify_at(&forged, &secrets, b"b", now()), Err(WebhookError::BadId));
}

#[test]
fn the_time_may_be_off_by_five_minutes_either_way() {
    for (off, taken) in [(0, true), (299, true), (300, true), (301, false), (3600, false)] {
        for seconds in [SECONDS - off, SECONDS + off] {
            // The last second of the tolerance still counts.
            for millis in [0, 999] {
                let now = now().plus(Millis::new(millis));
                let result = with("a", &seconds.to_string(), now);
                assert_eq!(result.is_ok(), taken, "{off}: {result:?}");
                assert!(taken || result == Err(WebhookError::BadTime));
            }
        }
    }
}

#[test]
fn a_timestamp_consists_of_digits() {
    for timestamp in [
        "hello",
        "+1614265330",
        "-1",
        "1614265330.0",
        "1.6e9",
        "0x603",
        "1614265330, 1614265330",
        "1614 265330",
        "１６１４２６５３３０",
        "1614265330000",
        "18446744073709551616",
        "18446744073709551615",
        "0",
    ] {
        assert_eq!(with("a", timestamp, now()), Err(WebhookError::BadTime), "{timestamp}");
    }
    assert!(with("a", "1614265330", UnixMillis::new(0)).is_err());
    assert!(with("a", "0", UnixMillis::new(0)).is_ok());
}

#[test]
fn debug_output_contains_no_id_and_no_signature() {
    let timestamp = SECONDS.to_string();
    let message = WebhookMessage::read(
        |name| match name {
            "webhook-id" => Some(ID),
            "webhook-timestamp" => Some(&timestamp),
            _ => Some(SIGNATURE),
        },
        now(),
    );
    let shown = format!("{:?}", message.unwrap());
    assert!(!shown.contains("msg_") && !shown.contains("g0hM9"), "{shown}");
}

#[test]
fn each_listed_source_has_its_own_secrets() {
    let list = format!(" dodo:{SECRET} , polar:{OTHER},dodo:{OTHER},");
    let sources = Sources::parse(&list).unwrap();
    assert_eq!(sources.secrets_of("dodo"), Some(&[secret(SECRET), secret(OTHER)][..]));
    assert_eq!(sources.secrets_of("polar"), Some(&[secret(OTHER)][..]));
    for unknown in ["", "Dodo", "dodo ", "dodo/", "stripe", "dodo:"] {
        assert_eq!(sources.secrets_of(unknown), None, "{unknown}");
    }
    assert_eq!(Sources::parse(" ,").unwrap().secrets_of(""), None);
    assert!(!format!("{sources:?}").contains("Mf"));
}

#[test]
fn the_error_of_an_invalid_list_says_what_is_wrong_without_quoting_it() {
    use SourcesError::{BadName, BadSecret, NotAPair};
    let long = "s".repeat(65);
    for (entry, error) in [
        ("s3cr3t", NotAPair),
        ("whsec_s3cr3t", NotAPair),
        (":whsec_s3cr3t", BadName),
        ("a b:whsec_s3cr3t", BadName),
        ("a/b:whsec_s3cr3t", BadName),
        ("a.b:whsec_s3cr3t", BadName),
        (&format!("{long}:{SECRET}"), BadName),
        ("polar:", BadSecret),
        ("polar:s3cr3t", BadSecret),
        ("polar:whsec_s3cr3t", BadSecret),
        ("polar: whsec_s3cr3t", BadSecret),
        (&format!("polar:{SECRET}:{SECRET}"), BadSecret),
    ] {
        let got = Sources::parse(&format!("dodo:{SECRET},{entry}")).unwrap_err();
        assert_eq!(got, error, "{entry}");
        assert!(!got.to_string().contains("s3cr3t"), "{got}");
    }
}

#[test]
fn every_spelling_of_the_path_is_recognized() {
    for path in [
        "/webhooks/dodo",
        "/webhooks/",
        "/webhooks//",
        "/webhooks/;",
        "/webhooks/a/b",
        "/%77ebhooks/dodo",
        "/webhooks%2Fdodo",
        "/webhooks%2f",
        "//webhooks/dodo",
        "/./webhooks/dodo",
        "/x/../webhooks/dodo",
        "/x%2f..%2fwebhooks/dodo",
        "/x/%2e%2E/webhooks/dodo",
        "/Webhooks/dodo",
        "/WEBHOOKS/dodo",
        "/webhooks\\dodo",
        "/webhooks%5cdodo",
        "/webhooks;a=b/dodo",
        "/../webhooks/dodo",
        "/%2Fwebhooks/dodo",
    ] {
        assert!(is_inbound(path), "{path}");
    }
    for path in [
        "",
        "/",
        "/webhooks",
        "/Webhooks",
        "/v1/webhooks/dodo",
        "/webhooksx/dodo",
        "/xwebhooks/a",
        "/webhook/dodo",
        "/webhooks/../v1/orders/x",
        "/%zzwebhooks/a",
        "/%7/webhooks",
        "/%",
    ] {
        // A path inside the folder stays there even if a dot segment leads out of it.
        assert_eq!(is_inbound(path), path.starts_with("/webhooks/"), "{path}");
    }
}

proptest! {
    #[test]
    fn a_signed_message_is_accepted_and_any_changed_byte_is_refused(
        id in "[!#-\\-/-~][!-\\-/-~]{0,253}[!-+\\-/-~]",
        random in any::<[u8; 32]>(),
        body in prop::collection::vec(any::<u8>(), 0..200),
        seconds in 301_u64..1 << 40,
        at in any::<prop::sample::Index>(),
        bit in 0_u8..8,
    ) {
        let secrets = [WebhookSecret::from_random(random)];
        let now = UnixMillis::new(seconds * 1000);
        let timestamp = seconds.to_string();
        let signature = sign(&secrets[0], &id, seconds, &body);
        let headers = |id: &str, timestamp: &str, signature: &str, body: &[u8]| {
            let headers = [
                ("webhook-id", id),
                ("webhook-timestamp", timestamp),
                ("webhook-signature", signature),
            ];
            verify_at(&headers, &secrets, body, now)
        };
        let taken = headers(&id, &timestamp, &signature, &body).unwrap();
        prop_assert_eq!(taken.as_str(), &id);

        let flip = |text: &[u8]| {
            let mut bytes = text.to_vec();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            bytes
        };
        if !body.is_empty() {
            prop_assert!(headers(&id, &timestamp, &signature, &flip(&body)).is_err());
        }
        if let Ok(other) = String::from_utf8(flip(id.as_bytes())) {
            // White space around a header is not part of it.
            prop_assert!(other.trim() == id || headers(&other, &timestamp, &signature, &body).is_err());
        }
        if let Ok(other) = String::from_utf8(flip(timestamp.as_bytes())) {
            prop_assert!(headers(&id, &other, &signature, &body).is_err());
        }
        if let Ok(other) = String::from_utf8(flip(signature.as_bytes())) {
            prop_assert!(headers(&id, &timestamp, &other, &body).is_err());
        }
        let mut random = random;
        random[at.index(32)] ^= 1 << bit;
        let others = [WebhookSecret::from_random(random)];
        let same = [
            ("webhook-id", id.as_str()),
            ("webhook-timestamp", &timestamp),
            ("webhook-signature", &signature),
        ];
        prop_assert_eq!(
            verify_at(&same, &others, &body, now),
            Err(WebhookError::BadSignature)
        );
    }

    #[test]
    fn no_input_causes_a_panic(
        values in prop::collection::vec("\\PC{0,40}|v1,[A-Za-z0-9+/]{0,50}={0,2}|[0-9]{0,22}", 3),
        list in "([a-z]{0,4}:?(whsec_)?[A-Za-z+/=]{0,40},?){0,4}|\\PC{0,60}",
        path in "(/|%|\\.|;|\\\\|webhooks|[0-9a-f]{2}|\\PC){0,12}",
    ) {
        let headers = [
            ("webhook-id", values[0].as_str()),
            ("webhook-timestamp", values[1].as_str()),
            ("webhook-signature", values[2].as_str()),
        ];
        let _ = verify(&headers);
        let _ = Sources::parse(&list);
        let _ = is_inbound(&path);
    }
}
