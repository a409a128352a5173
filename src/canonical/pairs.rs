//! The pairs of `application/x-www-form-urlencoded`, compared by value.
//!
//! Two clients write the same form in different bytes: one escapes a space as `+`, another as `%20`, and
//! some send the pairs in another order. So a form is compared by its pairs, decoded and sorted by name.
//! The canonical form is the pairs one after another, and of each pair the length of its name as 64 bits
//! in big-endian order, the name, the length of its value in the same way, and the value.
//!
//! # The order of pairs
//!
//! Names are compared by their letters and digits, in lower case, with all bytes beyond ASCII unchanged.
//! Pairs that a server may take for one field or one list keep their relative order, because it then has
//! a meaning:
//!
//! - pairs whose names are equal in this comparison: PHP reads `a.b` as `a_b`, and ASP.NET ignores case;
//! - pairs whose names are equal up to the first `[`, unless each name has a `[` and none has `[]`. So
//!   the members `card[number]` and `card[exp]` may come in any order. The fields of a list,
//!   `items[][id]` and `items[][count]`, may not: Rails begins a new item where a name repeats.
//!
//! So pairs are sorted by the part of the name before the first `[`. Those for which this part is the
//! same are then sorted by the whole name, if each of them is such a member.
//!
//! # Forms that are compared by their bytes
//!
//! A form that two programs may read differently, or that is costly to sort, has no canonical form of
//! pairs:
//!
//! - a form with a byte outside visible ASCII, a `;`, or a percent sign that begins no escape;
//! - a form with a pair without `=`, or with an empty pair;
//! - a form in which a name or a value contains NUL or is not UTF-8;
//! - a form of more than [`MOST_PAIRS`] pairs, or with a name of more than [`LONGEST_NAME`] bytes.

use super::disposition::halves;
use super::fields::{IgnoredFields, LONGEST_NAME, are_pairs, decoded};
use super::sink::Sink;
use super::work::spent;
use crate::codec::percent::has_broken_escape;
use core::cmp::Ordering;

/// The largest number of pairs that are sorted. PHP and Django read no more fields by default.
pub const MOST_PAIRS: usize = 1000;

/// The pairs of a form, decoded and sorted.
pub(crate) struct Pairs(Vec<Pair>);

struct Pair {
    name: String,
    value: String,
}

impl Pairs {
    /// Reads the pairs that are not ignored. Returns `None` if the form is compared by its bytes.
    pub(crate) fn read(body: &[u8], ignored: IgnoredFields<'_>) -> Option<Self> {
        if !are_pairs(body) || body.contains(&b';') || has_broken_escape(body) {
            return None;
        }
        spent(body.len());
        let mut pairs = Vec::new();
        for (before, escaped) in body.split(|&byte| byte == b'&').enumerate() {
            let (name, value) = halves(escaped, b'=');
            let pair = Pair { name: text(name)?, value: text(value)? };
            if before == MOST_PAIRS || name.len() == escaped.len() || pair.name.len() > LONGEST_NAME
            {
                return None;
            }
            if !ignored.has_pair(escaped) {
                pairs.push(pair);
            }
        }
        sort(&mut pairs, root);
        for group in pairs.chunk_by_mut(|one, other| compare(root(one), root(other)).is_eq()) {
            if group.iter().all(|pair| pair.name.contains('[') && !pair.name.contains("[]")) {
                sort(group, |pair| &pair.name);
            }
        }
        Some(Self(pairs))
    }

    /// Writes the canonical form.
    pub(crate) fn write(&self, sink: &mut impl Sink) {
        for pair in &self.0 {
            sink.put_sized(pair.name.as_bytes());
            sink.put_sized(pair.value.as_bytes());
        }
    }
}

/// Decodes a name or a value. Returns `None` if programs may disagree about it.
fn text(escaped: &[u8]) -> Option<String> {
    let text = String::from_utf8(decoded(escaped).collect()).ok()?;
    (!text.contains('\0')).then_some(text)
}

/// Returns the name up to its first `[`.
fn root(pair: &Pair) -> &str {
    pair.name.split('[').next().unwrap_or_default()
}

/// Sorts pairs. Pairs whose keys are equal keep their order. The library's stable sort would be faster for
/// many pairs, but it adds more code than this, and a page loads the code too.
fn sort(pairs: &mut [Pair], key: fn(&Pair) -> &str) {
    for end in 1..pairs.len() {
        let (sorted, rest) = pairs.split_at(end);
        let at = sorted.partition_point(|pair| compare(key(pair), key(&rest[0])).is_le());
        pairs[at..=end].rotate_right(1);
    }
}

fn compare(one: &str, other: &str) -> Ordering {
    spent(one.len() + other.len());
    letters(one).cmp(letters(other))
}

fn letters(name: &str) -> impl Iterator<Item = u8> {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    name.bytes().filter(is_letter).map(|byte| byte.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::super::work::measure;
    use super::*;

    #[test]
    fn hostile_forms_cost_little() {
        let many = |name: &dyn Fn(usize) -> String| {
            (0..MOST_PAIRS).map(|at| format!("{}=", name(at))).collect::<Vec<_>>().join("&")
        };
        let long = "a".repeat(LONGEST_NAME - 8);
        for body in [
            "a=&".repeat(1 << 18),
            "&".repeat(1 << 18),
            format!("{}=&a=", "a".repeat(1 << 18)),
            many(&|at| format!("{long}{}", at * 7919 % 1000)),
            many(&|at| format!("{}{at}", ".".repeat(LONGEST_NAME - 8))),
            many(&|at| format!("a[{}]", MOST_PAIRS - at)),
        ] {
            let (_, spent) = measure(|| Pairs::read(body.as_bytes(), IgnoredFields::new(&[])));
            // Each of a thousand names is compared about ten times, in each of two passes.
            assert!(spent <= 45 * body.len(), "{spent} for {}", body.len());
        }
    }
}
