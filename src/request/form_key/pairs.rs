//! Finds the key field in an `application/x-www-form-urlencoded` body.

use super::error::FormKeyError;
use super::field::{FieldName, FoundField};
use crate::canonical::disposition::halves;
use crate::canonical::fields::decoded;
use crate::canonical::work::spent;
use crate::codec::percent::has_broken_escape;

/// Finds the key field. Pairs are parsed as in section 5.1 of the URL standard.
pub(super) fn find(body: &[u8], field: &FieldName) -> Result<Option<FoundField>, FormKeyError> {
    spent(body.len());
    let mut found = None;
    let mut start = 0;
    for pair in body.split(|&byte| byte == b'&') {
        let end = start + pair.len();
        for piece in pair.split(|&byte| byte == b';') {
            let (name, value) = halves(piece, b'=');
            if !decoded(name).eq(field.as_str().bytes()) {
                continue;
            }
            if piece.len() != pair.len() || has_broken_escape(value) {
                return Err(FormKeyError::Ambiguous);
            }
            let bytes =
                if end < body.len() { start..end + 1 } else { start.saturating_sub(1)..end };
            let value = decoded(value).take(FoundField::MAX_READ).collect();
            FoundField::set_once(&mut found, FoundField { value, bytes })?;
        }
        start = end + 1;
    }
    Ok(found)
}
