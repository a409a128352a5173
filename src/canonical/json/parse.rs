//! The first pass: checks the text and records the positions of its members.

use super::super::{number, text};
use super::document::{Document, Member, Object};

/// The maximum nesting depth of arrays and objects; `[[0]]` is 2 deep. Common parsers have the same
/// limit.
pub const MAX_DEPTH: usize = 128;

/// The maximum number of members in all objects of a document together. It limits the memory for a
/// hostile body to about 24 MiB, plus copies of all names that have escapes.
pub const MAX_MEMBERS: usize = 1 << 19;

impl<'a> Document<'a> {
    /// Parses a text. Returns `None` if it [has no form](super#what-has-no-form).
    pub(crate) fn parse(source: &'a [u8]) -> Option<Self> {
        // Positions have 32 bits. Positions of names also cover `unescaped`, which takes another bit.
        let fits = source.len() <= i32::MAX as usize;
        (fits && std::str::from_utf8(source).is_ok()).then(|| Parser::new(source).run())?
    }
}

/// The state of the first pass.
struct Parser<'a> {
    document: Document<'a>,
    open: Vec<OpenContainer>,
    /// The members read so far of all open objects, innermost object last.
    waiting: Vec<Member>,
}

/// An array or object whose end has not been read yet.
enum OpenContainer {
    Array,
    Object { index: usize, first_waiting: usize },
}

/// How far a value has been read.
enum ValueProgress {
    /// The value is an array or object that is not empty. Its first value comes next.
    Opened,
    /// The value has been read to its end.
    Ended,
}

impl<'a> Parser<'a> {
    fn new(source: &'a [u8]) -> Self {
        let document =
            Document { source, unescaped: Vec::new(), members: Vec::new(), objects: Vec::new() };
        Self { document, open: Vec::new(), waiting: Vec::new() }
    }

    fn run(mut self) -> Option<Document<'a>> {
        let mut at = 0;
        loop {
            let value;
            (value, at) = self.value(at)?;
            if matches!(value, ValueProgress::Opened) {
                continue;
            }
            // After a value, the array or object around it continues with a comma, or ends too.
            loop {
                at = self.document.skip_space(at);
                let Some(innermost) = self.open.last() else {
                    return (at == self.document.source.len()).then_some(self.document);
                };
                match (innermost, self.document.source.get(at)?) {
                    (OpenContainer::Array, b',') => {
                        at += 1;
                        break;
                    }
                    (OpenContainer::Array, b']') => {
                        self.open.pop();
                    }
                    (OpenContainer::Object { .. }, b',') => {
                        at = self.name(at + 1)?;
                        break;
                    }
                    (&OpenContainer::Object { index, first_waiting }, b'}') => {
                        self.close_object(index, first_waiting, at + 1)?;
                        self.open.pop();
                    }
                    _ => return None,
                }
                at += 1;
            }
        }
    }

    /// Reads a scalar, an empty array or an empty object, or enters one that is not empty. Returns the
    /// position after what was read.
    fn value(&mut self, at: usize) -> Option<(ValueProgress, usize)> {
        let source = self.document.source;
        let at = self.document.skip_space(at);
        let end = match source.get(at)? {
            b'{' | b'[' if self.open.len() == MAX_DEPTH => return None,
            open @ (b'{' | b'[') => match self.document.end_of_empty(at) {
                Some(end) => end,
                None if *open == b'[' => {
                    self.open.push(OpenContainer::Array);
                    return Some((ValueProgress::Opened, at + 1));
                }
                None => {
                    self.open.push(OpenContainer::Object {
                        index: self.document.objects.len(),
                        first_waiting: self.waiting.len(),
                    });
                    self.document.objects.push(Object::default());
                    return Some((ValueProgress::Opened, self.name(at + 1)?));
                }
            },
            b'"' => text::scan(source, at)?.end,
            b'-' | b'0'..=b'9' => number::scan(source, at)?,
            _ => {
                at + ["true", "false", "null"]
                    .iter()
                    .find(|literal| source[at..].starts_with(literal.as_bytes()))?
                    .len()
            }
        };
        Some((ValueProgress::Ended, end))
    }

    /// Reads the name of a member and the colon after it. Returns the position after the colon.
    fn name(&mut self, at: usize) -> Option<usize> {
        let source = self.document.source;
        let at = self.document.skip_space(at);
        if source.get(at) != Some(&b'"')
            || self.document.members.len() + self.waiting.len() == MAX_MEMBERS
        {
            return None;
        }
        let literal = text::scan(source, at)?;
        let (name, name_len) = if literal.has_escapes {
            let unescaped = &mut self.document.unescaped;
            let start = unescaped.len();
            text::decode(&source[at..literal.end], unescaped);
            (source.len() + start, unescaped.len() - start)
        } else {
            (at + 1, literal.end - at - 2)
        };
        let colon = self.document.skip_space(literal.end);
        let value = colon + 1;
        self.waiting.push(Member {
            name: name as u32,
            name_len: name_len as u32,
            value: value as u32,
            objects_before: self.document.objects.len() as u32,
        });
        (source.get(colon) == Some(&b':')).then_some(value)
    }

    /// Sorts the members of an object that ends. Returns `None` if two members have the same name.
    fn close_object(&mut self, index: usize, first_waiting: usize, end: usize) -> Option<()> {
        let document = &mut self.document;
        let members = &mut self.waiting[first_waiting..];
        // The stable sort is a merge sort. A sort that falls back to a heap could compare the same two
        // long names many times, so its cost would not be linear in their length.
        let order = |one: &Member, other: &Member| {
            text::utf16_order(document.name(one), document.name(other))
        };
        let are_ordered = |members: &[Member]| members.is_sorted_by(|a, b| order(a, b).is_lt());
        if !are_ordered(members) {
            members.sort_by(order);
            if !are_ordered(members) {
                return None;
            }
        }
        document.objects[index] = Object {
            first: document.members.len() as u32,
            count: members.len() as u32,
            end: end as u32,
            objects_before_end: document.objects.len() as u32,
        };
        document.members.extend(self.waiting.drain(first_waiting..));
        Some(())
    }
}
