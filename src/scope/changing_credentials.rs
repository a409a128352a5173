//! Credentials that change by themselves: with each request, like a signature, or with each refresh,
//! like a JWT. A retry with such a credential would get another scope, so the request is refused.
//!
//! Such a credential is recognized by its form:
//!
//! - a scheme that signs requests or responds to challenges: `Digest`, `Hawk`, `DPoP`, `Negotiate`,
//!   `SharedKey`, a scheme that names a hash such as `AWS4-HMAC-SHA256`, or any unknown scheme with
//!   credentials of the form `account:signature`;
//! - a parameter that is a signature, a nonce or a time, as in `signature="…"` or `oauth_nonce=…`;
//! - a point in time: `2026-11-30T12:00:00Z`, `20261130T120000Z`;
//! - a token that contains its own expiry or signature: JWT, JWE, PASETO, Fernet, and the signed or
//!   encrypted session cookies of web frameworks.
//!
//! An opaque token that is refreshed cannot be distinguished from an API key.

use super::schemes::known_scheme;
use crate::codec::base64;
use crate::codec::percent;

/// Returns whether a credential changes by itself. `parts` are its scheme and the rest of the value.
/// `has_schemes` says whether the value is from a header whose values start with a scheme.
pub(super) fn changes(value: &str, parts: Option<(&str, &str)>, has_schemes: bool) -> bool {
    let signs = match parts {
        Some((scheme, rest)) => {
            is_signing(scheme) || (known_scheme(scheme).is_none() && rest.contains(':'))
        }
        None => has_schemes && is_signing(value),
    };
    // A cookie may escape characters such as quotes and dots.
    let unescaped: Vec<u8> = percent::decoded(value.as_bytes()).collect();
    let unescaped = String::from_utf8_lossy(&unescaped);
    signs || [value, &unescaped].into_iter().any(contains_changing_part)
}

/// Returns whether a scheme signs each request or responds to a challenge.
pub(super) fn is_signing(scheme: &str) -> bool {
    const NAMES: [&str; 24] = [
        "acs",
        "amx",
        "apiauth",
        "aws",
        "concealed",
        "cos",
        "dpop",
        "gnap",
        "goog1",
        "hawk",
        "hoba",
        "kerberos",
        "mac",
        "mutual",
        "negotiate",
        "ntlm",
        "oss",
        "pop",
        "privatetoken",
        "qbox",
        "qiniu",
        "uptoken",
        "vapid",
        "wsse",
    ];
    const PARTS: [&str; 12] = [
        "hmac",
        "sha1",
        "sha-1",
        "sha2",
        "sha-2",
        "sha3",
        "sha5",
        "sha-5",
        "md5",
        "digest",
        "scram",
        "sharedkey",
    ];
    let scheme = scheme.to_ascii_lowercase();
    let scheme = scheme.trim_end_matches([',', ':', ';']);
    let begins = ["acs-", "acs3-", "aws2", "aws3", "aws4", "aws-", "goog4", "tc3-", "tc2-"];
    NAMES.contains(&scheme)
        || begins.iter().any(|begin| scheme.starts_with(begin))
        || PARTS.iter().any(|part| scheme.contains(part))
        || scheme.split(['-', '_']).any(|part| matches!(part, "signature" | "signed" | "sign"))
        || scheme.starts_with("sharedaccess")
        || (scheme.ends_with("signature") && !scheme.contains('='))
}

/// Returns whether a value contains anything that changes: a parameter, a time, a signature or a token.
fn contains_changing_part(value: &str) -> bool {
    has_changing_parameter(value)
        || has_time(value.as_bytes())
        || has_signature(value)
        || has_session(value)
        || words(value).any(is_token)
}

/// Splits a value into words at white space, quotes and the separators of parameters.
fn words(value: &str) -> impl Iterator<Item = &str> {
    value.split([' ', '\t', ',', ';', '"', '\'', '=', '&', '?', '|', '~', '<', '>', '(', ')'])
}

/// Returns whether any parameter (`name=value` or `name: value`) has the name of a signature, a nonce
/// or a time.
fn has_changing_parameter(value: &str) -> bool {
    const NAMES: [&str; 20] = [
        "sig",
        "sign",
        "mac",
        "digest",
        "response",
        "ts",
        "date",
        "datetime",
        "created",
        "expires",
        "exp",
        "iat",
        "nbf",
        "se",
        "noncestr",
        "hash",
        "bodyhash",
        "signedheaders",
        "proof",
        "time",
    ];
    const ENDS: [&str; 4] = ["signature", "nonce", "timestamp", "hmac"];
    value.match_indices(['=', ':']).any(|(at, sign)| {
        // Equals signs at the end are the padding of base64.
        let is_padding = sign == "=" && value[at..].bytes().all(|byte| byte == b'=');
        let before = value[..at].trim_end_matches([' ', '\t', '"', '\'']);
        let name = before
            .rsplit(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')))
            .next()
            .unwrap_or_default();
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        !is_padding
            && (ENDS.iter().any(|end| name.ends_with(end))
                || NAMES.contains(&name.trim_start_matches("x").trim_start_matches("oauth")))
    })
}

/// Returns whether a value contains a point in time in the extended or basic format of ISO 8601.
fn has_time(value: &[u8]) -> bool {
    let is_like = |form: &[u8]| {
        value.windows(form.len()).any(|window| {
            window.iter().zip(form).all(|(byte, sign)| match sign {
                b'0' => byte.is_ascii_digit(),
                sign => byte == sign,
            })
        })
    };
    is_like(b"0000-00-00T00:00") || is_like(b"00000000T000000")
}

/// Returns whether a value is `account:signature` with a signature of 20, 32 or 64 bytes in padded
/// base64.
fn has_signature(value: &str) -> bool {
    value.rsplit_once(':').is_some_and(|(_, last)| {
        let is_hash = matches!(last.len(), 28 | 44 | 88) && last.ends_with('=');
        is_hash && base64::decode(last).is_some()
    })
}

/// Returns whether a word is a token that contains its expiry or signature.
fn is_token(word: &str) -> bool {
    is_jwt(word) || is_paseto(word) || is_fernet(word) || is_sealed(word)
}

fn is_base64(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_+/".contains(&byte))
}

/// Returns whether a word has the form of a JWT. A signed JWT has three base64url parts (RFC 7515), an
/// encrypted JWT has five (RFC 7516), and some of the parts may be empty. The first part is a JSON
/// object. These have the same form: signed cookies of Django and Flask, which start with a dot when
/// they are compressed, and a JWT that was signed again and has one more part.
fn is_jwt(word: &str) -> bool {
    let (body, starts): (_, &[&str]) = match word.strip_prefix('.') {
        Some(rest) => (rest, &["eJ"]),
        None => (word, &["eyJ", "eyA", "ewo", "ew0", "ewk"]),
    };
    // Express puts `s:` in front of a signed cookie.
    let body = body.strip_prefix("s:").unwrap_or(body);
    let mut parts = body.split(['.', ':']);
    starts.iter().any(|start| body.starts_with(start))
        && body.split(['.', ':']).count() >= 3
        && parts.all(is_base64)
}

/// Returns whether a word has the form of a PASETO token, such as `v4.public.…`.
fn is_paseto(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let mut parts = word.split('.');
    let (version, purpose, payload) = (parts.next(), parts.next(), parts.next());
    let is_version = version.and_then(|version| version.strip_prefix('v')).is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    is_version && matches!(purpose, Some("local" | "public")) && payload.is_some()
}

/// Returns whether a word has the form of a Fernet token: a version, a 64-bit time that starts with
/// zero bits, and at least 64 more bytes.
fn is_fernet(word: &str) -> bool {
    word.starts_with("gAAAAA") && word.len() >= 97 && is_base64(word)
}

/// Returns whether any word has the form of a Rails session cookie: padded base64, `--` and a
/// signature.
fn has_session(value: &str) -> bool {
    value.split([' ', '\t', ',', ';', '"', '\'', '&']).any(|word| {
        word.rsplit_once("--").is_some_and(|(data, last)| {
            let is_hex = last.bytes().all(|byte| byte.is_ascii_hexdigit());
            let is_tag = last.len() == 24 && last.strip_suffix("==").is_some_and(is_base64);
            !data.is_empty() && (is_tag || is_hex && matches!(last.len(), 40 | 64))
        })
    })
}

/// Returns whether a word is a base64-encoded JSON object with a member for a signature or a time, like
/// the session cookies of Laravel.
fn is_sealed(word: &str) -> bool {
    const MEMBERS: [&str; 8] = [
        "\"iv\"",
        "\"mac\"",
        "\"exp\"",
        "\"iat\"",
        "\"nonce\"",
        "\"sig\"",
        "\"signature\"",
        "\"ts\"",
    ];
    if !word.starts_with("ey") && !word.starts_with("ew") {
        return false;
    }
    let standard = word.replace('-', "+").replace('_', "/");
    let Some(bytes) = base64::decode(&standard) else {
        return false;
    };
    let text = String::from_utf8_lossy(&bytes);
    MEMBERS.iter().any(|member| text.contains(member))
}

#[cfg(test)]
mod tests {
    use super::super::schemes::split_scheme;
    use super::*;

    const JWT: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";

    fn authorization(value: &str) -> bool {
        changes(value, split_scheme(value), true)
    }

    #[test]
    fn signatures_and_refreshed_tokens_are_recognized_by_their_format() {
        for value in [
            "SharedKey account:c2lnbmF0dXJl",
            "SharedKeyLite account:c2ln",
            "SharedAccessSignature sr=x&sig=y&se=1&skn=z",
            "SharedAccessKey abc",
            "X-Signed abc",
            "AcmeSignature abc",
            "MAC id=\"h\", ts=\"1\", nonce=\"n\", mac=\"m\"",
            "MAC abc",
            "V2-HMAC-SHA256, Signature: abc",
            "Signature keyId=\"k\",algorithm=\"hs2019\",signature=\"abc\"",
            "keyId=\"k\",signature=\"abc\"",
            "AWS4-HMAC-SHA256 Credential=AKID/20260101/eu/s3/aws4_request, Signature=fe5f",
            "AWS4-ECDSA-P256-SHA256 Credential=AKID, Signature=fe5f",
            "aws4-hmac-sha256 x",
            "AWS AKID:c2ln",
            "GOOG1 id:c2ln",
            "Digest username=\"a\", realm=\"r\", nonce=\"b\", response=\"c\"",
            "Hawk id=\"a\", ts=\"1\", nonce=\"b\", mac=\"c\"",
            "OAuth oauth_consumer_key=\"a\", oauth_nonce=\"b\", oauth_signature=\"c\"",
            "OAuth oauth_consumer_key=\"a\",oauth_timestamp=\"1\"",
            "DPoP opaque",
            "HMAC abc",
            "HMAC-SHA256 abc",
            "hmac key:abc",
            "acs AKID:c2ln",
            "ACS3-HMAC-SHA256 Credential=a,Signature=b",
            "acs-hmac-sha1 x",
            "TC3-HMAC-SHA256 Credential=AKID/2026-01-01/cvm/tc3_request, Signature=x",
            "SDK-HMAC-SHA256 Access=a, Signature=b",
            "WECHATPAY2-SHA256-RSA2048 mchid=\"1\",nonce_str=\"n\",signature=\"s\"",
            "EG1-HMAC-SHA256 client_token=a;timestamp=1;nonce=n;signature=s",
            "bce-auth-v1/AKID/2026-04-27T08:23:49Z/1800/host/abc",
            "SCRAM-SHA-256 data=\"x\"",
            "Negotiate YII",
            "negotiate",
            "NTLM TlRM",
            "vapid t=a, k=b",
            "APIAuth 1044:c2ln",
            "Acme account:c2lnbmF0dXJl",
            "account:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            "Bearer account:AAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            "Nonce nonce = \"x\"",
        ] {
            assert!(authorization(value), "{value}");
        }
    }

    #[test]
    fn a_token_that_expires_is_recognized_in_every_position() {
        let fernet = format!("gAAAAA{}", "B".repeat(100));
        let laravel = base64::encode(br#"{"iv":"a","value":"b","mac":"c","tag":""}"#);
        let spaced = base64::encode(b"{\n  \"iv\": \"a\", \"mac\": \"c\"}");
        let rails = "ZGF0YQ%3D%3D--0123456789abcdef0123456789abcdef01234567";
        for token in [
            JWT,
            "eyJhbGciOiJkaXIifQ..aXY.Y2lwaGVy.dGFn",
            "eyAiYWxnIjoibm9uZSJ9.e30.",
            "ewogICJhbGciOiAibm9uZSIKfQ.e30.x",
            "v1.public.abc",
            "v2.local.abc",
            "v3.public.abc.Zm9vdGVy",
            "v4.local.abc",
            "V4.PUBLIC.abc",
            "v12.local.abc",
            "eyJhIjoxfQ:1sW3kB:c2ln",
            ".eJyrVkrM.ZzZzZz.c2ln",
            &fernet,
            &laravel,
            &spaced,
            rails,
            "ZGF0YQ--aXZpdml2aXZpdml2--dGFndGFndGFndGFndGFndA==",
        ] {
            for value in [
                token.to_owned(),
                format!("Bearer {token}"),
                format!("bearer\t{token}"),
                format!("token=\"{token}\""),
                format!("Token token={token}"),
                format!("%22{token}%22"),
                format!("Bearer {token},"),
            ] {
                assert!(changes(&value, None, false), "{value}");
                assert!(authorization(&value), "{value}");
            }
        }
        assert!(changes(&format!("s%3A{JWT}.c2ln"), None, false));
        assert!(changes(&format!("{JWT}~disclosure~"), None, false));
    }

    #[test]
    fn permanent_credentials_do_not_count_as_changing() {
        for value in [
            "sk_live_51H8x",
            "Bearer sk-proj-abc_DEF-123",
            "Bearer sk_live_eyJ.a.b",
            "Bearer eyJ.only-two",
            "Bearer eyJ.not!base64.c",
            "Bearer eyJrIjoiYWJjIiwibiI6Im5hbWUiLCJpZCI6MX0=",
            "Basic dXNlcjpwYXNz",
            "Token abc",
            "Token token=abc",
            "ApiKey VnVhQ2ZHY0JDZGJrU",
            "OAuth abcdef",
            "sso-key key:secret",
            "Bearer 123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
            "key-id:key-secret",
            "key-id:c2VjcmV0MQ==",
            "Bearer a.b.c",
            "Bearer ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "Bearer xoxb-1-2-abc",
            "Bearer abc+sig==",
            "Bearer v1.abc.def",
            "Bearer v1.public",
            "Bearer v.public.abc",
            "Bearer vx.public.abc",
            "0190a5d0-ac96-774b-bcce-b302099a8057",
            "kuko_test_demo",
            "GenieKey eb243592-faa2-4ba2-a551q-1afdf565c889",
            "SSWS 00QCjAl4MlV",
            "MyCompany abcdef",
            "design abc",
            "macaroon abc",
            "gAAAAAB",
            "a--b",
            "a--bcd==",
            "a--bcdefghijklmnopqrstuvwxy",
            "PHPSESSID",
            "",
        ] {
            assert!(!authorization(value), "{value}");
            assert!(!changes(value, None, false), "{value}");
        }
        // In a header without schemes, the name of a scheme alone is an API key.
        assert!(!changes("hmac", None, false));
    }
}
