//! A parsed JSON text, and access to its values.

use super::super::lookalike::are_lookalikes;
use super::super::work::spent;
use super::super::{number, text};

/// A JSON text that has a canonical form, with the positions of its members in canonical order.
pub(crate) struct Document<'a> {
    pub(super) source: &'a [u8],
    /// The unescaped text of all names that have escapes.
    pub(super) unescaped: Vec<u8>,
    /// The members of all objects. Those of one object are adjacent and sorted by name.
    pub(super) members: Vec<Member>,
    /// All objects that have members, in the order of their opening braces.
    pub(super) objects: Vec<Object>,
}

pub(super) struct Member {
    /// The position of the name: in the source, or, past the length of the source, in `unescaped`.
    pub(super) name: u32,
    pub(super) name_len: u32,
    /// The position after the colon.
    pub(super) value: u32,
    /// The number of objects with members that open before the value.
    pub(super) objects_before: u32,
}

#[derive(Default)]
pub(super) struct Object {
    /// The index of the first member.
    pub(super) first: u32,
    /// The number of members.
    pub(super) count: u32,
    /// The position after the closing brace.
    pub(super) end: u32,
    /// The number of objects with members that open before `end`.
    pub(super) objects_before_end: u32,
}

impl<'a> Document<'a> {
    /// Returns the value of the whole document.
    pub(crate) fn root(&self) -> JsonValue<'_> {
        JsonValue { document: self, at: self.skip_space(0), object: 0 }
    }

    /// Returns the value that the steps of a pointer lead to (RFC 6901 §4).
    pub(crate) fn find(&self, steps: &[impl AsRef<str>]) -> Option<JsonValue<'_>> {
        steps.iter().try_fold(self.root(), |value, step| value.step(step.as_ref()))
    }

    /// Returns the value that the steps of a pointer lead to. Returns an error if an object on the way has
    /// a member whose name is a [lookalike](super::super::lookalike) of the step, because some readers
    /// would use that member instead.
    pub(crate) fn find_plainly(
        &self,
        steps: &[impl AsRef<str>],
    ) -> Result<Option<JsonValue<'_>>, Lookalike> {
        let mut value = self.root();
        for step in steps {
            if value.has_lookalike(step.as_ref()) {
                return Err(Lookalike);
            }
            match value.step(step.as_ref()) {
                None => return Ok(None),
                Some(next) => value = next,
            }
        }
        Ok(Some(value))
    }

    pub(super) fn name(&self, member: &Member) -> &[u8] {
        let (at, len) = (member.name as usize, member.name_len as usize);
        match at.checked_sub(self.source.len()) {
            None => &self.source[at..at + len],
            Some(at) => &self.unescaped[at..at + len],
        }
    }

    /// Returns where a member's name starts in the source, with its quote. `None` if the name has escapes there, or the
    /// colon does not follow at once.
    pub(super) fn start_in_source(&self, member: &Member) -> Option<usize> {
        let [at, len, value] = [member.name, member.name_len, member.value].map(|n| n as usize);
        (at < self.source.len() && value == at + len + 2).then(|| at - 1)
    }

    /// Returns the first position at or after `at` that is not white space.
    #[inline(always)]
    pub(super) fn skip_space(&self, at: usize) -> usize {
        match self.source.get(at) {
            // Mostly there is none.
            Some(byte) if *byte > b' ' => {
                spent(1);
                at
            }
            _ => self.skip_spaces(at),
        }
    }

    fn skip_spaces(&self, at: usize) -> usize {
        let rest = &self.source[at..];
        let spaces = rest
            .iter()
            .position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
            .unwrap_or(rest.len());
        spent(spaces + 1);
        at + spaces
    }

    /// Returns where the array or object that opens at `at` ends, if it is empty.
    pub(super) fn end_of_empty(&self, at: usize) -> Option<usize> {
        let close = if self.source[at] == b'[' { b']' } else { b'}' };
        let inside = self.skip_space(at + 1);
        (self.source.get(inside) == Some(&close)).then_some(inside + 1)
    }
}

/// An object has a member whose name some readers would treat as equal to the requested name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lookalike;

/// A value of a document.
#[derive(Clone, Copy)]
pub(crate) struct JsonValue<'d> {
    pub(super) document: &'d Document<'d>,
    pub(super) at: usize,
    /// The number of objects with members that open before this value. If this value is such an object,
    /// that is its index.
    pub(super) object: usize,
}

impl<'d> JsonValue<'d> {
    /// Returns the member with this name, if this value is an object that has one.
    fn member(self, name: &str) -> Option<Self> {
        let (document, members) = (self.document, self.members());
        let order = |member: &Member| text::utf16_order(document.name(member), name.as_bytes());
        let found = &members[members.binary_search_by(order).ok()?];
        Some(Self {
            document,
            at: document.skip_space(found.value as usize),
            object: found.objects_before as usize,
        })
    }

    /// Returns the members in canonical order. A value that is not an object has none.
    fn members(self) -> &'d [Member] {
        let document = self.document;
        if document.source[self.at] != b'{' || document.end_of_empty(self.at).is_some() {
            return &[];
        }
        let object = &document.objects[self.object];
        &document.members[object.first as usize..][..object.count as usize]
    }

    fn has_lookalike(self, name: &str) -> bool {
        self.members().iter().any(|member| {
            let found = self.document.name(member);
            spent(found.len().min(name.len()));
            std::str::from_utf8(found).is_ok_and(|found| are_lookalikes(found, name))
        })
    }

    /// Returns the text of a string, or a number in its canonical form.
    pub(crate) fn scalar(self) -> Option<String> {
        let source = self.document.source;
        let mut written = Vec::new();
        match source[self.at] {
            b'"' => text::decode(&source[self.at..], &mut written),
            b'-' | b'0'..=b'9' => {
                let end = number::skip(source, self.at);
                number::write(&source[self.at..end], &mut written);
            }
            _ => return None,
        }
        String::from_utf8(written).ok()
    }

    /// Returns the text of a string.
    pub(crate) fn text(self) -> Option<String> {
        if self.is_number() { None } else { self.scalar() }
    }

    /// Returns whether this value is a number.
    pub(crate) fn is_number(self) -> bool {
        matches!(self.document.source[self.at], b'-' | b'0'..=b'9')
    }

    /// Returns whether this value is an array.
    pub(crate) fn is_list(self) -> bool {
        self.document.source[self.at] == b'['
    }

    /// Returns whether this value says that there is nothing: `null`, `false`, zero, or a text, a list or
    /// an object without content.
    pub(crate) fn is_blank(self) -> bool {
        match self.document.source[self.at] {
            b'{' | b'[' => self.document.end_of_empty(self.at).is_some(),
            b'n' | b'f' => true,
            _ => self.scalar().is_some_and(|text| match self.is_number() {
                true => text == "0",
                false => text.is_empty(),
            }),
        }
    }

    /// Returns the member or the element that one step of a pointer leads to.
    pub(crate) fn step(self, step: &str) -> Option<Self> {
        match self.document.source[self.at] {
            b'[' => self.element(array_index(step)?),
            _ => self.member(step),
        }
    }

    fn element(self, index: usize) -> Option<Self> {
        let Self { document, at, object } = self;
        if document.end_of_empty(at).is_some() {
            return None;
        }
        let mut element = Self { document, at: document.skip_space(at + 1), object };
        for _ in 0..index {
            let (end, object) = element.end();
            let comma_or_end = document.skip_space(end);
            if document.source[comma_or_end] == b']' {
                return None;
            }
            element = Self { document, at: document.skip_space(comma_or_end + 1), object };
        }
        Some(element)
    }

    /// Returns where the value ends, and the number of objects with members that open before that.
    pub(super) fn end(self) -> (usize, usize) {
        let document = self.document;
        let source = document.source;
        let (mut at, mut object, mut depth) = (self.at, self.object, 0_usize);
        loop {
            at = document.skip_space(at);
            at = match source[at] {
                b'{' => document.end_of_empty(at).unwrap_or_else(|| {
                    let opened = &document.objects[object];
                    object = opened.objects_before_end as usize;
                    opened.end as usize
                }),
                b'[' => {
                    depth += 1;
                    at + 1
                }
                b']' => {
                    depth -= 1;
                    at + 1
                }
                b',' => at + 1,
                b'"' => text::skip(source, at),
                b'-' | b'0'..=b'9' => number::skip(source, at),
                _ => skip_word(source, at),
            };
            // Commas occur only inside an array here, so the depth cannot be zero after one.
            if depth == 0 {
                return (at, object);
            }
        }
    }
}

/// Returns where `true`, `false` or `null` ends.
pub(super) fn skip_word(source: &[u8], at: usize) -> usize {
    at + if source[at] == b'f' { 5 } else { 4 }
}

/// Reads a decimal index without leading zeros.
fn array_index(step: &str) -> Option<usize> {
    let is_index =
        step.bytes().all(|byte| byte.is_ascii_digit()) && (step == "0" || !step.starts_with('0'));
    is_index.then(|| step.parse().ok())?
}
