//! Properties of tokens and keys with random input.

use super::tests::{CLAIMS, check, compact};
use super::*;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in ".*", dots in "[A-Za-z0-9_=+/-]{0,40}(\\.[A-Za-z0-9_-]{0,40}){0,4}") {
        for text in [text.clone(), format!("Bearer {text}"), format!("Bearer {dots}")] {
            if let Ok(token) = Token::parse(&text) {
                prop_assert!(text.contains(&token.signed));
            }
        }
        let _ = Jwks::parse(text.as_bytes());
    }

    #[test]
    fn any_claims_are_read_or_refused(claims in "\\PC*", value in "[0-9.eE+-]{0,12}", now: u64) {
        let _ = check(&claims, now >> 12);
        let _ = check(&format!("{{{CLAIMS},\"sub\":{value}}}"), now >> 12);
        let _ = check(&format!("{{\"iss\":\"https://id.example\",\"aud\":\"api\",\"exp\":{value}}}"), now >> 12);
    }

    #[test]
    fn no_change_of_a_token_keeps_what_is_signed(at in 0_usize..200, letter in "[A-Za-z0-9_-]") {
        let text = compact(r#"{"alg":"ES256","kid":"a"}"#, &format!("{{{CLAIMS},\"sub\":\"u\"}}"));
        let good = Token::parse(&text).unwrap();
        let at = 7 + at % (text.len() - 7);
        let changed = [&text[..at], &letter, &text[at + 1..]].concat();
        if changed != text && let Ok(other) = Token::parse(&changed) {
            prop_assert!(other.signed != good.signed || other.signature != good.signature);
        }
    }
}
