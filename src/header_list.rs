//! Headers as a list: names in lower case, in their order, and a name may come several times.

use crate::codec::cbor::record_fields;
use crate::codec::list::entries;
use crate::message_fields;
use core::fmt;
use minicbor::{Decode, Encode};

/// The headers of a request or a response.
///
/// ```
/// # use oncekey::HeaderList;
/// let headers = [("accept", "a/b"), ("accept", "c/d")];
/// let headers: HeaderList = headers.into_iter().collect();
/// assert_eq!(headers.get("accept"), Some("a/b"));
/// assert_eq!(headers.joined("accept").as_deref(), Some("a/b, c/d"));
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(transparent)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(from = "Vec<(String, String)>")
)]
pub struct HeaderList(#[n(0)] Vec<(String, String)>);

message_fields!(HeaderList(list));
record_fields!(HeaderList(list));

impl HeaderList {
    /// Returns the first value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns all values of a name as one list.
    pub fn joined(&self, name: &str) -> Option<String> {
        let values = self.iter().filter(|(known, _)| *known == name).map(|(_, value)| value);
        let values: Vec<&str> = values.collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// Adds a value behind the others.
    pub fn append(&mut self, name: &str, value: impl Into<String>) {
        self.0.push((name.to_owned(), value.into()));
    }

    /// Puts a value in the place of all that the name has.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.retain(|known, _| known != name);
        self.append(name, value);
    }

    /// Notes in `Vary` that the response differs by this header of the request.
    pub fn vary_by(&mut self, name: &str) {
        let known = self.joined("vary").unwrap_or_default();
        if !entries(&known).any(|other| other == "*" || other.eq_ignore_ascii_case(name)) {
            self.set("vary", entries(&known).chain([name]).collect::<Vec<_>>().join(", "));
        }
    }

    /// Keeps the headers that `keep` approves of.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &str) -> bool) {
        self.0.retain(|(name, value)| keep(name, value));
    }

    /// Returns name and value of each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns name and value of each, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut String)> {
        self.0.iter_mut().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes hop-by-hop headers out (RFC 9110 §7.6.1): the known ones and those that `Connection`
    /// names.
    pub fn drop_connection_headers(&mut self) {
        let named = self.joined("connection").unwrap_or_default().to_ascii_lowercase();
        self.retain(|name, _| !is_hop_by_hop(name) && !entries(&named).any(|other| other == name));
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for HeaderList {
    /// Puts the names in lower case.
    fn from_iter<I: IntoIterator<Item = (N, V)>>(headers: I) -> Self {
        let lower = |(name, value): (N, V)| {
            let mut name: String = name.into();
            name.make_ascii_lowercase();
            (name, value.into())
        };
        Self(headers.into_iter().map(lower).collect())
    }
}

impl From<Vec<(String, String)>> for HeaderList {
    /// Puts the names in lower case.
    fn from(headers: Vec<(String, String)>) -> Self {
        headers.into_iter().collect()
    }
}

impl IntoIterator for HeaderList {
    type Item = (String, String);
    type IntoIter = std::vec::IntoIter<(String, String)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Shows names alone: a value may be a credential.
impl fmt::Debug for HeaderList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

fn is_hop_by_hop(name: &str) -> bool {
    matches!(
        name,
        "connection"
            | "keep-alive"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_replaces_all_values_of_a_name() {
        let mut list: HeaderList = [("Vary", "a"), ("x", "1"), ("vary", "b")].into_iter().collect();
        assert_eq!((list.get("vary"), list.joined("vary").as_deref()), (Some("a"), Some("a, b")));
        assert_eq!((list.get("none"), list.joined("none")), (None, None));
        assert_eq!(
            (list.len(), list.is_empty(), HeaderList::default().is_empty()),
            (3, false, true)
        );
        list.set("vary", "c");
        assert_eq!(list.iter().collect::<Vec<_>>(), [("x", "1"), ("vary", "c")]);
        list.iter_mut().for_each(|(name, value)| value.insert_str(0, name));
        assert_eq!(list.iter().collect::<Vec<_>>(), [("x", "x1"), ("vary", "varyc")]);
        assert_eq!(format!("{list:?}"), "[\"x\", \"vary\"]");
    }

    #[test]
    fn headers_of_the_connection_are_removed() {
        let headers = [("Connection", "close, X-Hop"), ("x-hop", "1"), ("TE", "t"), ("etag", "e")];
        let mut list: HeaderList = headers.into_iter().collect();
        list.drop_connection_headers();
        assert_eq!(list.iter().collect::<Vec<_>>(), [("etag", "e")]);
    }
}
