//! The first walk: checks the text and notes where its members are.

use super::super::{number, text};
use super::document::{Document, Member, Object};

/// How deep arrays and objects may be nested: `[[0]]` is 2 deep. The limit that common parsers
/// have.
pub const MAX_DEPTH: usize = 128;

/// How many members all objects of a document may have together. It bounds the memory that a
/// hostile body takes to about 24 MiB, beside names with escapes, which are copied.
pub const MAX_MEMBERS: usize = 1 << 19;

impl<'a> Document<'a> {
    pub(crate) fn parse(source: &'a [u8]) -> Option<Self> {
        // Positions have 32 bits, and names use one of them to tell two places apart.
        let fits = source.len() <= i32::MAX as usize;
        (fits && std::str::from_utf8(source).is_ok()).then(|| Walk::new(source).run())?
    }
}

struct Walk<'a> {
    document: Document<'a>,
    open: Vec<Open>,
    /// The members so far of all objects that are open, innermost last.
    waiting: Vec<Member>,
}

enum Open {
    Array,
    Object { index: usize, first_waiting: usize },
}

enum Value {
    /// An array or object that is not empty: what is in it comes next.
    Opened,
    Ended,
}

impl<'a> Walk<'a> {
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
            if matches!(value, Value::Opened) {
                continue;
            }
            // What the value is in goes on with a comma, or ends too.
            loop {
                at = self.document.skip_space(at);
                let Some(innermost) = self.open.last() else {
                    return (at == self.document.source.len()).then_some(self.document);
                };
                match (innermost, self.document.source.get(at)?) {
                    (Open::Array, b',') => {
                        at += 1;
                        break;
                    }
                    (Open::Array, b']') => {
                        self.open.pop();
                    }
                    (Open::Object { .. }, b',') => {
                        at = self.name(at + 1)?;
                        break;
                    }
                    (&Open::Object { index, first_waiting }, b'}') => {
                        self.close_object(index, first_waiting, at + 1)?;
                        self.open.pop();
                    }
                    _ => return None,
                }
                at += 1;
            }
        }
    }

    /// Walks a scalar, an empty array or object, or into one that is not empty.
    fn value(&mut self, at: usize) -> Option<(Value, usize)> {
        let source = self.document.source;
        let at = self.document.skip_space(at);
        let end = match source.get(at)? {
            b'{' | b'[' if self.open.len() == MAX_DEPTH => return None,
            open @ (b'{' | b'[') => match self.document.end_of_empty(at) {
                Some(end) => end,
                None if *open == b'[' => {
                    self.open.push(Open::Array);
                    return Some((Value::Opened, at + 1));
                }
                None => {
                    self.open.push(Open::Object {
                        index: self.document.objects.len(),
                        first_waiting: self.waiting.len(),
                    });
                    self.document.objects.push(Object::default());
                    return Some((Value::Opened, self.name(at + 1)?));
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
        Some((Value::Ended, end))
    }

    /// Walks a member's name and the colon after it.
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

    /// Sorts the members of an object that ends; `None` if two have one name.
    fn close_object(&mut self, index: usize, first_waiting: usize, end: usize) -> Option<()> {
        let document = &mut self.document;
        let members = &mut self.waiting[first_waiting..];
        // The stable sort merges. A sort that falls back to a heap could compare the same two long
        // names again and again, and would not be linear in their length.
        members.sort_by(|one, other| text::utf16_order(document.name(one), document.name(other)));
        if members.windows(2).any(|pair| document.name(&pair[0]) == document.name(&pair[1])) {
            return None;
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
