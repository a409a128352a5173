//! The operator's token, and how it is compared with a caller's token.
//!
//! A comparison that stops at the first difference reveals by its time how much of a guess was right.
//! So the SHA-256 digests of both tokens are compared in constant time. All digests have the same
//! length, and a caller cannot choose one.

use crate::scope::split_scheme;
use core::fmt;
use ctutils::CtEq;
use sha2::{Digest, Sha256};

/// The operator's token. Only its digest is stored, so the token cannot be printed.
#[derive(Clone)]
pub struct AdminToken([u8; 32]);

impl AdminToken {
    /// Hashes the text of the token.
    pub fn new(text: &str) -> Self {
        Self(digest(text))
    }

    /// Returns whether an `Authorization` header carries this token as a bearer token (RFC 6750).
    ///
    /// The scheme is compared without case and white space (RFC 9110 §11.1). Otherwise the token after
    /// `bearer` would count as a customer's credential, and the gateway would forward it to the
    /// origin. The time of this call depends only on the length of the header.
    pub fn is_carried_by(&self, authorization: &str) -> bool {
        split_scheme(authorization).is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case("bearer") && self.0.ct_eq(&digest(token)).to_bool()
        })
    }
}

impl fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdminToken")
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_header_with_the_whole_token_is_accepted() {
        let token = AdminToken::new("s3cret-tökén");
        for carried in [
            "Bearer s3cret-tökén",
            "bearer s3cret-tökén",
            "BEARER  s3cret-tökén",
            "Bearer\t s3cret-tökén",
            " Bearer s3cret-tökén ",
        ] {
            assert!(token.is_carried_by(carried), "{carried}");
        }
        for other in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer s3cret-töké",
            "Bearer s3cret-tökénn",
            "Bearer S3cret-tökén",
            "Bearer s3cret tökén",
            "Basic s3cret-tökén",
            "s3cret-tökén",
            "Bearer s3cret-tökén, Bearer s3cret-tökén",
            "béarer s3cret-tökén",
            "éééé",
        ] {
            assert!(!token.is_carried_by(other), "{other}");
        }
        assert!(!format!("{token:?}").contains("s3cret"));
    }

    #[test]
    fn tokens_whose_digests_differ_in_one_bit_are_different() {
        let own = digest("own");
        assert!(AdminToken(own).is_carried_by("Bearer own"));
        for bit in 0..256 {
            let mut other = own;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!AdminToken(other).is_carried_by("Bearer own"), "{bit}");
        }
        assert!(!AdminToken(own.map(|byte| !byte)).is_carried_by("Bearer own"));
    }
}
