//! The setting `SCOPE_ALIASES`: tenants that keep their keys when their credential changes.

use crate::codec::hex::parse_hex;
use crate::codec::list::entries;
use core::fmt;
use sha2::{Digest, Sha256};

/// A map from the hashes of credentials to tenants. All credentials of a tenant have one scope.
#[derive(Clone, Default)]
pub struct ScopeAliases(Vec<([u8; 32], String)>);

/// Why a list of aliases cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AliasError {
    /// An entry is not `hash:tenant`.
    NotAPair,
    /// The part before the colon is not a SHA-256 in 64 hexadecimal digits.
    NotAHash,
    /// The same credential is listed twice.
    GivenTwice,
}

impl ScopeAliases {
    /// Parses `hash:tenant,hash:tenant`. A hash is the SHA-256 of the whole value of a source in 64
    /// hexadecimal digits. Several credentials may belong to the same tenant.
    pub fn parse(list: &str) -> Result<Self, AliasError> {
        let mut aliases: Vec<([u8; 32], String)> = Vec::new();
        for entry in entries(list) {
            let (credential, tenant) = entry.split_once(':').ok_or(AliasError::NotAPair)?;
            if tenant.is_empty() {
                return Err(AliasError::NotAPair);
            }
            let credential = parse_hex(credential).ok_or(AliasError::NotAHash)?;
            if aliases.iter().any(|(known, _)| *known == credential) {
                return Err(AliasError::GivenTwice);
            }
            aliases.push((credential, tenant.to_owned()));
        }
        Ok(Self(aliases))
    }

    /// Returns whether no credential has an alias.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the tenant of a credential, if it has an alias.
    pub(super) fn tenant_of(&self, value: &str) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        let hashed: [u8; 32] = Sha256::digest(value.as_bytes()).into();
        let found = self.0.iter().find(|(credential, _)| *credential == hashed);
        found.map(|(_, tenant)| tenant.as_str())
    }
}

impl fmt::Debug for ScopeAliases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScopeAliases({} entries)", self.0.len())
    }
}

impl fmt::Display for AliasError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAPair => "each entry must be HASH:TENANT, entries separated by commas",
            Self::NotAHash => "the part before the colon must be the SHA-256 of the credential in 64 hexadecimal digits",
            Self::GivenTwice => "one credential is listed twice",
        })
    }
}

impl core::error::Error for AliasError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_invalid_aliases_says_what_is_wrong() {
        let hash = "ab".repeat(32);
        assert_eq!(ScopeAliases::parse("acme").unwrap_err(), AliasError::NotAPair);
        assert_eq!(ScopeAliases::parse(&format!("{hash}:")).unwrap_err(), AliasError::NotAPair);
        assert_eq!(ScopeAliases::parse("abc:acme").unwrap_err(), AliasError::NotAHash);
        assert_eq!(
            ScopeAliases::parse(&format!("{}:acme", "zz".repeat(32))).unwrap_err(),
            AliasError::NotAHash
        );
        assert_eq!(
            ScopeAliases::parse(&format!("{hash}:a,{hash}:b")).unwrap_err(),
            AliasError::GivenTwice
        );
        assert!(ScopeAliases::parse("").is_ok());
    }
}
