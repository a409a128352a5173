//! Comma-separated lists, as in settings and in most header fields (RFC 9110 §5.6.1).

/// Returns the entries of a list without the white space around them, and skips empty entries.
pub fn entries(list: &str) -> impl Iterator<Item = &str> + Clone {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}
