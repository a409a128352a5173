use super::*;
use crate::codec::base64;

fn url(bytes: &[u8]) -> String {
    base64::encode(bytes).replace('+', "-").replace('/', "_").replace('=', "")
}

pub(super) fn compact(header: &str, claims: &str) -> String {
    format!("Bearer {}.{}.{}", url(header.as_bytes()), url(claims.as_bytes()), url(b"signature"))
}

fn token(claims: &str) -> Token {
    Token::parse(&compact(r#"{"alg":"ES256"}"#, claims)).expect("a token")
}

pub(super) const CLAIMS: &str = r#""iss":"https://id.example","aud":"api","exp":1000"#;

pub(super) fn check(claims: &str, now: u64) -> Result<Vec<Name>, TokenRefused> {
    let rules = TokenRules {
        issuer: "https://id.example".to_owned(),
        audiences: vec!["api".to_owned(), "app".to_owned()],
    };
    let names = ["sub".to_owned()];
    rules.check(&token(claims), true, &names, UnixMillis::new(now * 1000))
}

fn rsa(members: &str) -> String {
    format!(r#"{{"kty":"RSA","n":"{}","e":"AQAB"{members}}}"#, url(&[0xff; 256]))
}

fn p256(members: &str) -> String {
    let x = url(&[1; 32]);
    format!(r#"{{"kty":"EC","crv":"P-256","x":"{x}","y":"{x}"{members}}}"#)
}

fn ed25519(members: &str) -> String {
    format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}"{members}}}"#, url(&[1; 32]))
}

fn key_set(keys: &[String]) -> Jwks {
    Jwks::parse(format!(r#"{{"keys":[{}]}}"#, keys.join(",")).as_bytes()).expect("a key set")
}

#[test]
fn a_token_is_one_bearer_jwt_that_reads_one_way() {
    let header = r#"{"alg":"RS256","kid":"a","typ":"JWT"}"#;
    let good = compact(header, "{}");
    for text in [good.clone(), good.replace("Bearer ", "bearer  ")] {
        assert!(Token::parse(&text).is_ok(), "{text}");
    }
    let bare = good.trim_start_matches("Bearer ");
    for text in [
        bare.to_owned(),
        "Bearer a.b".to_owned(),
        format!("Basic {bare}"),
        format!("{good}.x"),
        format!("{good}, {good}"),
        format!("{good} x"),
        format!("{good}="),
        good.replacen('.', "=.", 1),
        good.replacen('.', "+.", 1),
        // Bits that are left over after the last byte.
        good.replacen(".e30.", ".e31.", 1),
    ] {
        assert_eq!(Token::parse(&text), Err(TokenError::Unreadable), "{text}");
    }
}

#[test]
fn a_header_names_one_of_four_algorithms_and_no_extension() {
    let parse = |header: &str| Token::parse(&compact(header, "{}")).map(|token| token.algorithm);
    for (name, algorithm) in [
        ("RS256", Algorithm::Rs256),
        ("PS256", Algorithm::Ps256),
        ("ES256", Algorithm::Es256),
        ("EdDSA", Algorithm::EdDsa),
        ("Ed25519", Algorithm::EdDsa),
    ] {
        assert_eq!(parse(&format!(r#"{{"alg":"{name}"}}"#)), Ok(algorithm));
    }
    for name in ["none", "None", "", "HS256", "HS512", "RS1", "RS512", "ES384", "rs256", "ES256K"] {
        assert_eq!(parse(&format!(r#"{{"alg":"{name}"}}"#)), Err(TokenError::Algorithm), "{name}");
    }
    for header in [
        "",
        "[]",
        "{}",
        r#"{"alg":256}"#,
        r#"{"alg":["RS256"]}"#,
        r#"{"alg":"RS256","alg":"RS256"}"#,
        r#"{"alg":"RS256","\u0061lg":"none"}"#,
        r#"{"alg":"RS256","crit":["b64"],"b64":false}"#,
        r#"{"alg":"RS256","crit":[]}"#,
        r#"{"alg":"RS256","kid":7}"#,
        r#"{"alg":"RS256","typ":7}"#,
    ] {
        assert_eq!(parse(header), Err(TokenError::Unreadable), "{header}");
    }
    for (kind, is_access) in [
        ("JWT", true),
        ("at+jwt", true),
        ("application/AT+JWT", true),
        ("logout+jwt", false),
        ("dpop+jwt", false),
    ] {
        let found = parse(&format!(r#"{{"alg":"RS256","typ":"{kind}"}}"#));
        assert_eq!(found.is_ok(), is_access, "{kind}");
    }
}

#[test]
fn claims_count_only_after_the_signature_was_checked() {
    let rules = TokenRules { issuer: String::new(), audiences: Vec::new() };
    let refused = rules.check(&token("no JSON"), false, &[], UnixMillis::new(0));
    assert_eq!(refused, Err(TokenRefused::Token(TokenError::Signature)));
}

#[test]
fn issuer_audience_and_times_are_checked() {
    let of = |more: &str| format!("{{{CLAIMS},\"sub\":\"u\"{more}}}");
    let good = Ok(vec![Name::Text("u".to_owned())]);
    for now in [0, 999, 1000, 1059] {
        assert_eq!(check(&of(""), now), good, "{now}");
    }
    let refused = |error| Err(TokenRefused::Token(error));
    assert_eq!(check(&of(""), 1060), refused(TokenError::Expired));
    assert_eq!(check(&of(",\"nbf\":560"), 500), good);
    assert_eq!(check(&of(",\"nbf\":561"), 500), refused(TokenError::TooEarly));
    assert_eq!(check(&of(",\"nbf\":561.9"), 501), good);
    for (claims, error) in [
        (r#"{"aud":"api","exp":1000}"#, TokenError::Issuer),
        (r#"{"iss":"https://id.example/","aud":"api","exp":1000}"#, TokenError::Issuer),
        (r#"{"iss":["https://id.example"],"aud":"api","exp":1000}"#, TokenError::Issuer),
        (r#"{"iss":"https://id.example","exp":1000}"#, TokenError::Audience),
        (r#"{"iss":"https://id.example","aud":"other","exp":1000}"#, TokenError::Audience),
        (r#"{"iss":"https://id.example","aud":[],"exp":1000}"#, TokenError::Audience),
        (r#"{"iss":"https://id.example","aud":{"0":"api"},"exp":1000}"#, TokenError::Audience),
        (r#"{"iss":"https://id.example","aud":"api"}"#, TokenError::Unreadable),
        (r#"{"iss":"https://id.example","aud":"api","exp":"1000"}"#, TokenError::Unreadable),
        (r#"{"iss":"https://id.example","aud":"api","exp":-1}"#, TokenError::Unreadable),
        (r#"{"iss":"https://id.example","aud":"api","exp":1e30}"#, TokenError::Unreadable),
        (r#"{"iss":"https://id.example","aud":"api","exp":null}"#, TokenError::Unreadable),
        (
            r#"{"iss":"https://id.example","aud":"api","exp":1000,"nbf":"1"}"#,
            TokenError::Unreadable,
        ),
        (
            r#"{"iss":"https://id.example","aud":"api","exp":1000,"exp":9000}"#,
            TokenError::Unreadable,
        ),
        (
            r#"{"iss":"https://id.example","aud":"api","exp":1000,"Exp":9000}"#,
            TokenError::Unreadable,
        ),
        ("[]", TokenError::Issuer),
        ("no JSON", TokenError::Unreadable),
    ] {
        assert_eq!(check(claims, 500), refused(error), "{claims}");
    }
    let list = r#"{"iss":"https://id.example","aud":["other","app"],"exp":1e3,"sub":"u"}"#;
    assert_eq!(check(list, 500), good);
}

#[test]
fn a_claim_names_the_caller_if_it_reads_one_way() {
    let of = |value: &str| check(&format!("{{{CLAIMS},\"sub\":{value}}}"), 500);
    let integer = |digits: &str| Ok(vec![Name::Integer(digits.to_owned())]);
    for (value, digits) in
        [("7", "7"), ("7.0", "7"), ("-7", "-7"), ("9007199254740991", "9007199254740991")]
    {
        assert_eq!(of(value), integer(digits), "{value}");
    }
    assert_eq!(of(r#""\u0037""#), Ok(vec![Name::Text("7".to_owned())]));
    for value in [
        r#""""#,
        r#"" ""#,
        "7.5",
        "9007199254740992",
        "1e30",
        "null",
        "true",
        "[]",
        "{}",
        r#"["u"]"#,
    ] {
        assert_eq!(of(value), Err(TokenRefused::NoClaim("sub".to_owned())), "{value}");
    }
    assert_eq!(check(&format!("{{{CLAIMS}}}"), 500), Err(TokenRefused::NoClaim("sub".to_owned())));
    let lookalike = check(&format!(r#"{{{CLAIMS},"sub":"u","Sub":"v"}}"#), 500);
    assert_eq!(lookalike, Err(TokenRefused::Token(TokenError::Unreadable)));
}

#[test]
fn a_key_checks_only_what_it_is_for() {
    let signed = |algorithm: &str, kid: &str| {
        Token::parse(&compact(&format!(r#"{{"alg":"{algorithm}"{kid}}}"#), "{}")).expect("a token")
    };
    let all = ["RS256", "PS256", "ES256", "EdDSA"];
    for (key, fit) in [
        (rsa(""), &["RS256", "PS256"][..]),
        (rsa(r#","alg":"PS256""#), &["PS256"]),
        (rsa(r#","use":"sig","key_ops":["verify"]"#), &["RS256", "PS256"]),
        (p256(""), &["ES256"]),
        (ed25519(r#","alg":"Ed25519""#), &["EdDSA"]),
        (rsa(r#","use":"enc""#), &[]),
        (rsa(r#","use":7"#), &[]),
        (rsa(r#","key_ops":["encrypt"]"#), &[]),
        (rsa(r#","alg":"HS256""#), &[]),
        (rsa(r#","alg":"ES256""#), &[]),
        (rsa(r#","kid":7"#), &[]),
        (p256("").replace("P-256", "P-384"), &[]),
        (p256("").replace("EC", "oct"), &[]),
        (ed25519("").replace("Ed25519", "X25519"), &[]),
        (r#"{"kty":"oct","k":"AAAA"}"#.to_owned(), &[]),
        (format!(r#"{{"kty":"RSA","n":"{}","e":"AQAB"}}"#, url(&[0xff; 128])), &[]),
        (r#"{"kty":"RSA","n":"\"},{","e":"AQAB"}"#.to_owned(), &[]),
        ("7".to_owned(), &[]),
    ] {
        let keys = key_set(std::slice::from_ref(&key));
        for algorithm in all {
            let token = signed(algorithm, "");
            assert_eq!(keys.check(&token).is_some(), fit.contains(&algorithm), "{key} {algorithm}");
        }
    }
    // With several keys that fit, the token must say which.
    let keys = key_set(&[p256(r#","kid":"a""#), p256(r#","kid":"b""#), rsa(r#","kid":"c""#)]);
    assert_eq!(keys.check(&signed("ES256", "")), None);
    assert!(keys.check(&signed("ES256", r#","kid":"b""#)).is_some());
    assert_eq!(keys.check(&signed("ES256", r#","kid":"c""#)), None);
    assert_eq!(keys.check(&signed("ES256", r#","kid":"d""#)), None);
    assert!(keys.check(&signed("RS256", "")).is_some());
    for text in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":[],"keys":[]}"#] {
        assert_eq!(Jwks::parse(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn keys_are_fetched_at_most_once_a_minute_and_count_for_a_day() {
    let at = |seconds: u64| UnixMillis::new(1_000_000_000 + seconds * 1000);
    let signed = |kid: &str| {
        let header = format!(r#"{{"alg":"ES256","kid":"{kid}"}}"#);
        Token::parse(&compact(&header, "{}")).expect("a token")
    };
    let (old, new) = (signed("a"), signed("b"));
    let [first, second] = ["a", "b"]
        .map(|kid| format!(r#"{{"keys":[{}]}}"#, p256(&format!(r#","kid":"{kid}""#))).into_bytes());
    let mut cache = KeyCache::new();
    let is_check = |step: KeyStep<'_>| matches!(step, KeyStep::Check(_));

    // Without keys, requests wait for one fetch, and a failure is repeated after a second.
    assert_eq!(cache.step(&old, at(0)), KeyStep::Fetch);
    assert_eq!(cache.step(&old, at(1)), KeyStep::Wait);
    assert_eq!(cache.step(&old, at(5)), KeyStep::Fetch, "the fetch was lost");
    cache.fetched(None, at(6));
    assert_eq!(cache.step(&old, at(6)), KeyStep::Unavailable);
    assert_eq!(cache.step(&old, at(7)), KeyStep::Fetch);
    cache.fetched(Some(&first), at(7));
    assert!(is_check(cache.step(&old, at(7))));

    // A token that names an unknown key lets the keys be fetched once a minute.
    assert_eq!(cache.step(&new, at(66)), KeyStep::Refuse(TokenError::UnknownKey));
    assert_eq!(cache.step(&new, at(67)), KeyStep::Fetch);
    assert!(is_check(cache.step(&old, at(68))), "known keys do not wait");
    assert_eq!(cache.step(&new, at(68)), KeyStep::Wait);
    cache.fetched(Some(&second), at(68));
    assert!(is_check(cache.step(&new, at(68))));
    assert_eq!(cache.step(&old, at(69)), KeyStep::Refuse(TokenError::UnknownKey));

    // Keys are fetched again after ten minutes, and the old ones count until that succeeds.
    assert_eq!(cache.step(&new, at(668)), KeyStep::Fetch);
    for broken in [None, Some(&b"{}"[..]), Some(br#"{"keys":[]}"#)] {
        cache.fetched(broken, at(669));
    }
    assert!(is_check(cache.step(&new, at(670))));
    assert_eq!(cache.step(&new, at(68 + 86_400)), KeyStep::Fetch);
    cache.fetched(None, at(68 + 86_400));
    assert_eq!(cache.step(&new, at(68 + 86_400)), KeyStep::Unavailable);
}

#[test]
fn a_token_is_in_no_log() {
    assert_eq!(format!("{:?}", token(r#"{"sub":"s3cr3t"}"#)), "Token(ES256)");
}
