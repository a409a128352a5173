//! JSON pointers (RFC 6901), which select the members that a fingerprint ignores.

use crate::codec::percent;
use crate::codec::text::{digits, split};
use std::fmt;
use std::str::FromStr;

/// A JSON pointer (RFC 6901) to a member or an element of a document, such as `/nonce` or
/// `/items/0/id`.
///
/// In a name, `/` is written as `~1` and `~` as `~0`. A step into an array is a decimal index without
/// leading zeros (RFC 6901 §4). The step `-` never matches an element.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JsonPointer {
    steps: Vec<String>,
}

impl JsonPointer {
    /// Parses the string form of a pointer (RFC 6901 §5). The empty pointer, which selects the whole
    /// document, is an error, because nothing would be left to compare.
    ///
    /// ```
    /// # use oncekey::JsonPointer;
    /// assert!(JsonPointer::parse("/metadata/nonce").is_ok());
    /// assert!(JsonPointer::parse("nonce").is_err());
    /// ```
    pub fn parse(pointer: &str) -> Result<Self, PointerError> {
        if pointer.is_empty() {
            return Err(PointerError::WholeDocument);
        }
        let steps = pointer.strip_prefix('/').ok_or(PointerError::NoSlash)?;
        Ok(Self { steps: split(steps, b'/').map(unescape).collect::<Result<_, _>>()? })
    }

    /// Parses a pointer in a URI fragment (RFC 6901 §6), such as `/data/0/id`. The fragment is
    /// percent-encoded and given without its `#`.
    pub fn parse_fragment(fragment: &str) -> Result<Self, PointerError> {
        if percent::has_broken_escape(fragment.as_bytes()) {
            return Err(PointerError::BadFragment);
        }
        let decoded = percent::decoded(fragment.as_bytes()).collect();
        Self::parse(&String::from_utf8(decoded).map_err(|_| PointerError::BadFragment)?)
    }

    /// Returns the steps of the pointer: names and indexes, unescaped. There is at least one.
    pub fn steps(&self) -> &[String] {
        &self.steps
    }
}

impl FromStr for JsonPointer {
    type Err = PointerError;

    fn from_str(pointer: &str) -> Result<Self, PointerError> {
        Self::parse(pointer)
    }
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps
            .iter()
            .try_for_each(|step| write!(f, "/{}", step.replace('~', "~0").replace('/', "~1")))
    }
}

/// Why a text is not a valid pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PointerError {
    /// The pointer is empty.
    WholeDocument,
    /// The pointer does not begin with a slash.
    NoSlash,
    /// A tilde is not followed by `0` or `1`.
    LoneTilde,
    /// A fragment contains a percent sign that begins no escape, or is not UTF-8 after decoding.
    BadFragment,
}

impl PointerError {
    /// Returns what is wrong, and what to write instead.
    pub const fn message(&self) -> &'static str {
        match self {
            Self::WholeDocument => {
                "an empty JSON pointer names the whole document; name one of its members, for example `/nonce`"
            }
            Self::NoSlash => "a JSON pointer must begin with a slash; write `/nonce`, not `nonce`",
            Self::LoneTilde => {
                "in a JSON pointer, write `~` as `~0`, and a slash in a name as `~1`"
            }
            Self::BadFragment => {
                "in a fragment, write other characters as percent-encoded UTF-8, and `%` as `%25`"
            }
        }
    }
}

impl fmt::Display for PointerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for PointerError {}

fn unescape(step: &str) -> Result<String, PointerError> {
    let mut pieces = split(step, b'~');
    let mut name = String::from(pieces.next().unwrap_or(""));
    for piece in pieces {
        let (character, rest) = match piece.split_at_checked(1) {
            Some(("0", rest)) => ('~', rest),
            Some(("1", rest)) => ('/', rest),
            _ => return Err(PointerError::LoneTilde),
        };
        name.push(character);
        name.push_str(rest);
    }
    Ok(name)
}

/// A tree of all pointers to ignored values. With it, one pass over a document is enough for any number
/// of pointers.
pub(super) struct IgnoreTree<'p> {
    nodes: Vec<Node<'p>>,
}

#[derive(Default)]
struct Node<'p> {
    ends_here: bool,
    /// Pairs of a step and the index of its node, sorted by step.
    children: Vec<(&'p [u8], usize)>,
}

/// Whether a value is ignored.
#[derive(Clone, Copy)]
pub(super) enum IgnoreStatus {
    /// The value is kept, with everything in it.
    Kept,
    /// The value is kept, but something in it may be ignored: this node of the tree has the pointers.
    Partial(usize),
    /// The value is ignored.
    Ignored,
}

impl<'p> IgnoreTree<'p> {
    /// Builds the tree of some pointers.
    pub(super) fn new(pointers: &'p [JsonPointer]) -> Self {
        let mut nodes = vec![Node::default()];
        for pointer in pointers {
            let mut at = 0;
            for step in &pointer.steps {
                let fresh = nodes.len();
                let children = &mut nodes[at].children;
                let child = match children.binary_search_by_key(&step.as_bytes(), |child| child.0) {
                    Ok(place) => children[place].1,
                    Err(place) => {
                        children.insert(place, (step.as_bytes(), fresh));
                        nodes.push(Node::default());
                        fresh
                    }
                };
                at = child;
            }
            nodes[at].ends_here = true;
        }
        Self { nodes }
    }

    /// Returns the status of the whole document.
    pub(super) fn root(&self) -> IgnoreStatus {
        if self.nodes[0].children.is_empty() {
            IgnoreStatus::Kept
        } else {
            IgnoreStatus::Partial(0)
        }
    }

    /// Returns the status of a member of an object with the status `parent`.
    pub(super) fn member(&self, parent: IgnoreStatus, name: &[u8]) -> IgnoreStatus {
        let IgnoreStatus::Partial(parent) = parent else {
            return parent;
        };
        let children = &self.nodes[parent].children;
        match children.binary_search_by_key(&name, |child| child.0) {
            Err(_) => IgnoreStatus::Kept,
            Ok(place) => match children[place].1 {
                child if self.nodes[child].ends_here => IgnoreStatus::Ignored,
                child => IgnoreStatus::Partial(child),
            },
        }
    }

    /// Returns the status of an element of an array with the status `parent`.
    pub(super) fn element(&self, parent: IgnoreStatus, index: usize) -> IgnoreStatus {
        match parent {
            IgnoreStatus::Partial(_) => self.member(parent, digits(index as u64).as_bytes()),
            _ => parent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_6901_are_read() {
        // RFC 6901 §5, without the whole document.
        for (text, steps) in [
            ("/foo", &["foo"][..]),
            ("/foo/0", &["foo", "0"]),
            ("/", &[""]),
            ("/a~1b", &["a/b"]),
            ("/c%d", &["c%d"]),
            ("/e^f", &["e^f"]),
            ("/g|h", &["g|h"]),
            ("/i\\j", &["i\\j"]),
            ("/k\"l", &["k\"l"]),
            ("/ ", &[" "]),
            ("/m~0n", &["m~n"]),
            ("/~01", &["~1"]),
            ("//", &["", ""]),
        ] {
            let pointer = JsonPointer::parse(text).unwrap();
            assert_eq!(pointer.steps(), steps);
            assert_eq!(pointer.to_string(), text);
        }
    }

    #[test]
    fn the_fragments_of_rfc_6901_are_read() {
        // RFC 6901 §6, without the whole document.
        for (fragment, pointer) in [
            ("/foo/0", "/foo/0"),
            ("/", "/"),
            ("/a~1b", "/a~1b"),
            ("/c%25d", "/c%d"),
            ("/e%5Ef", "/e^f"),
            ("/k%22l", "/k\"l"),
            ("/%20", "/ "),
            ("/m~0n", "/m~0n"),
            ("/%7e1", "/~1"),
            ("%2Fa%2Cb", "/a,b"),
            ("/%e8%a8%82", "/訂"),
        ] {
            assert_eq!(JsonPointer::parse_fragment(fragment), JsonPointer::parse(pointer));
        }
        for (fragment, error) in [
            ("", PointerError::WholeDocument),
            ("a", PointerError::NoSlash),
            ("/%", PointerError::BadFragment),
            ("/%2", PointerError::BadFragment),
            ("/%zz", PointerError::BadFragment),
            ("/%ff", PointerError::BadFragment),
            ("/%7e", PointerError::LoneTilde),
        ] {
            assert_eq!(JsonPointer::parse_fragment(fragment), Err(error), "{fragment}");
        }
    }

    #[test]
    fn malformed_pointers_are_refused() {
        for (text, error) in [
            ("", PointerError::WholeDocument),
            ("nonce", PointerError::NoSlash),
            ("#/nonce", PointerError::NoSlash),
            ("/a~", PointerError::LoneTilde),
            ("/~2", PointerError::LoneTilde),
            ("/~~0", PointerError::LoneTilde),
        ] {
            assert_eq!(text.parse::<JsonPointer>(), Err(error), "{text}");
            assert!(!error.to_string().is_empty());
        }
    }
}
