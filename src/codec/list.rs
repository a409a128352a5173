//! Lists with commas between their entries: settings, and most header fields (RFC 9110 §5.6.1).

/// Returns the entries of a list, without the blanks around them. Empty entries do not count.
pub fn entries(list: &str) -> impl Iterator<Item = &str> + Clone {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}
