//! The second pass: writes the canonical form of a text that the first pass has checked.

use super::super::pointer::{IgnoreStatus, IgnoreTree, JsonPointer};
use super::super::sink::Sink;
use super::super::{number, text};
use super::document::{Document, JsonValue, Member, skip_word};

impl Document<'_> {
    /// Writes the canonical form without the values that `ignore` points to.
    pub(crate) fn write(&self, ignore: &[JsonPointer], sink: &mut impl Sink) {
        write_document(self, ignore, sink);
    }
}

fn write_document(document: &Document<'_>, ignore: &[JsonPointer], sink: &mut impl Sink) {
    let ignored = IgnoreTree::new(ignore);
    let mut writer =
        Writer { document, status: ignored.root(), ignored, sink, at: 0, next_object: 0 };
    let mut open = Vec::new();
    loop {
        open.extend(writer.value());
        loop {
            let Some(innermost) = open.last_mut() else {
                return;
            };
            if writer.move_to_next(innermost) {
                break;
            }
            open.pop();
        }
    }
}

/// The state of the second pass.
struct Writer<'w, S> {
    document: &'w Document<'w>,
    ignored: IgnoreTree<'w>,
    sink: &'w mut S,
    /// The position in the source.
    at: usize,
    /// The index of the object that the next opening brace belongs to.
    next_object: usize,
    /// Whether the next value is ignored, or something in it.
    status: IgnoreStatus,
}

/// An array or object whose end has not been written yet.
struct OpenFrame {
    status: IgnoreStatus,
    container: Container,
    has_written: bool,
}

/// An array or object, and how far it has been written.
enum Container {
    Array { index: usize },
    Object { object: usize, member: usize, end: usize },
}

impl<'w, S: Sink> Writer<'w, S> {
    /// Writes a scalar, an empty array or object, or opens one that is not empty.
    fn value(&mut self) -> Option<OpenFrame> {
        let source = self.document.source;
        let at = self.document.skip_space(self.at);
        self.at = match source[at] {
            open @ (b'{' | b'[') => {
                let Some(end) = self.document.end_of_empty(at) else {
                    self.sink.put_byte(open);
                    self.at = at + 1;
                    let container = if open == b'[' {
                        Container::Array { index: 0 }
                    } else {
                        self.enter_object()
                    };
                    return Some(OpenFrame { status: self.status, container, has_written: false });
                };
                self.sink.put(if open == b'[' { b"[]" } else { b"{}" });
                end
            }
            b'"' => text::write_literal(source, at, self.sink),
            b'-' | b'0'..=b'9' => {
                let end = number::skip(source, at);
                number::write(&source[at..end], self.sink);
                end
            }
            _ => {
                let end = skip_word(source, at);
                self.sink.put(&source[at..end]);
                end
            }
        };
        None
    }

    /// Enters the next object. `next_object` is not changed here: the object's first written member sets
    /// it, or its end if all members are ignored.
    fn enter_object(&self) -> Container {
        let object = self.next_object;
        let (first, count) = (
            self.document.objects[object].first as usize,
            self.document.objects[object].count as usize,
        );
        Container::Object { object, member: first, end: first + count }
    }

    /// Moves to the next value of an array or object that is not written yet. If there is none, closes it and
    /// returns `false`.
    fn move_to_next(&mut self, open: &mut OpenFrame) -> bool {
        match open.container {
            Container::Array { ref mut index } => {
                let Some(status) = self.next_element(open.status, index) else {
                    self.sink.put_byte(b']');
                    return false;
                };
                self.status = status;
                self.write_comma(&mut open.has_written);
            }
            Container::Object { object, ref mut member, end } => loop {
                let Some((status, found)) = self.next_member(open.status, member, end) else {
                    self.sink.put_byte(b'}');
                    let object = &self.document.objects[object];
                    (self.at, self.next_object) =
                        (object.end as usize, object.objects_before_end as usize);
                    return false;
                };
                if self.write_member(found, &mut open.has_written) {
                    continue;
                }
                self.status = status;
                (self.at, self.next_object) = (found.value as usize, found.objects_before as usize);
                break;
            },
        }
        true
    }

    /// Writes a comma if needed, the name of a member, and its value if that is a scalar in canonical form, all as one
    /// piece if the source has them so. Returns whether the value is written.
    fn write_member(&mut self, member: &Member, has_written: &mut bool) -> bool {
        let source = self.document.source;
        let value = member.value as usize;
        // A name that has no escapes needs none.
        let Some(mut start) = self.document.start_in_source(member) else {
            self.write_comma(has_written);
            text::write(self.document.name(member), self.sink);
            self.sink.put_byte(b':');
            return false;
        };
        if *has_written && source[start - 1] == b',' {
            start -= 1;
        } else {
            self.write_comma(has_written);
        }
        let end = end_of_canonical(source, value);
        self.sink.put(&source[start..end.unwrap_or(value)]);
        end.is_some()
    }

    /// Moves to the next element that is not ignored. If there is none, moves past the end of the array
    /// and returns `None`.
    fn next_element(&mut self, array: IgnoreStatus, index: &mut usize) -> Option<IgnoreStatus> {
        loop {
            if *index > 0 {
                let comma_or_end = self.document.skip_space(self.at);
                self.at = comma_or_end + 1;
                if self.document.source[comma_or_end] == b']' {
                    return None;
                }
            }
            let status = self.ignored.element(array, *index);
            *index += 1;
            match status {
                IgnoreStatus::Ignored => self.skip_value(),
                _ => return Some(status),
            }
        }
    }

    /// Returns the next member that is not ignored, and its status.
    fn next_member(
        &self,
        object: IgnoreStatus,
        member: &mut usize,
        end: usize,
    ) -> Option<(IgnoreStatus, &'w Member)> {
        while *member < end {
            let found = &self.document.members[*member];
            *member += 1;
            match self.ignored.member(object, self.document.name(found)) {
                IgnoreStatus::Ignored => {}
                status => return Some((status, found)),
            }
        }
        None
    }

    fn write_comma(&mut self, has_written: &mut bool) {
        if *has_written {
            self.sink.put_byte(b',');
        }
        *has_written = true;
    }

    /// Moves past a value without writing it.
    fn skip_value(&mut self) {
        let value = JsonValue { document: self.document, at: self.at, object: self.next_object };
        (self.at, self.next_object) = value.end();
    }
}

/// Returns where the value at `at` ends, if it is a scalar in canonical form and no white space precedes it.
fn end_of_canonical(source: &[u8], at: usize) -> Option<usize> {
    match source[at] {
        b'"' => text::end_of_canonical(source, at),
        b'0'..=b'9' => number::end_of_canonical(source, at),
        b't' | b'f' | b'n' => Some(skip_word(source, at)),
        _ => None,
    }
}
