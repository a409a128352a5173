//! The second walk: writes the canonical form of a text that the first walk has checked.

use super::super::pointer::{Ignored, JsonPointer, Place};
use super::super::sink::Sink;
use super::super::{number, text};
use super::document::{Document, Member, Value, skip_word};

impl Document<'_> {
    pub(crate) fn write(&self, ignore: &[JsonPointer], sink: &mut impl Sink) {
        walk(self, ignore, sink);
    }
}

fn walk(document: &Document<'_>, ignore: &[JsonPointer], sink: &mut impl Sink) {
    let ignored = Ignored::new(ignore);
    let mut walk = Walk { document, place: ignored.root(), ignored, sink, at: 0, next_object: 0 };
    let mut open = Vec::new();
    loop {
        open.extend(walk.value());
        loop {
            let Some(innermost) = open.last_mut() else {
                return;
            };
            if walk.goes_on(innermost) {
                break;
            }
            open.pop();
        }
    }
}

struct Walk<'w, S> {
    document: &'w Document<'w>,
    ignored: Ignored<'w>,
    sink: &'w mut S,
    /// Where the walk is in the source.
    at: usize,
    /// Which object the next opening brace belongs to.
    next_object: usize,
    /// What the pointers say of the value that comes next.
    place: Place,
}

struct Open {
    place: Place,
    kind: Kind,
    has_written: bool,
}

enum Kind {
    Array { index: usize },
    Object { object: usize, member: usize, end: usize },
}

impl<'w, S: Sink> Walk<'w, S> {
    /// Writes a scalar, an empty array or object, or opens one that is not empty.
    fn value(&mut self) -> Option<Open> {
        let source = self.document.source;
        let at = self.document.skip_space(self.at);
        self.at = match source[at] {
            open @ (b'{' | b'[') => {
                let Some(end) = self.document.end_of_empty(at) else {
                    self.sink.put(&[open]);
                    self.at = at + 1;
                    let kind =
                        if open == b'[' { Kind::Array { index: 0 } } else { self.enter_object() };
                    return Some(Open { place: self.place, kind, has_written: false });
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

    /// Its first member, or its end where none is left, says which object comes next.
    fn enter_object(&self) -> Kind {
        let object = self.next_object;
        let (first, count) = (
            self.document.objects[object].first as usize,
            self.document.objects[object].count as usize,
        );
        Kind::Object { object, member: first, end: first + count }
    }

    /// Goes to the next value of an array or object, or closes it and says no.
    fn goes_on(&mut self, open: &mut Open) -> bool {
        match open.kind {
            Kind::Array { ref mut index } => {
                let Some(place) = self.next_element(open.place, index) else {
                    self.sink.put(b"]");
                    return false;
                };
                self.place = place;
                self.comma(&mut open.has_written);
            }
            Kind::Object { object, ref mut member, end } => {
                let Some((place, found)) = self.next_member(open.place, member, end) else {
                    self.sink.put(b"}");
                    let object = &self.document.objects[object];
                    (self.at, self.next_object) =
                        (object.end as usize, object.objects_before_end as usize);
                    return false;
                };
                self.place = place;
                self.comma(&mut open.has_written);
                text::write(self.document.name(found), self.sink);
                self.sink.put(b":");
                (self.at, self.next_object) = (found.value as usize, found.objects_before as usize);
            }
        }
        true
    }

    /// Goes to the next element that is not left out, or past the array's end.
    fn next_element(&mut self, array: Place, index: &mut usize) -> Option<Place> {
        loop {
            if *index > 0 {
                let comma_or_end = self.document.skip_space(self.at);
                self.at = comma_or_end + 1;
                if self.document.source[comma_or_end] == b']' {
                    return None;
                }
            }
            let place = self.ignored.element(array, *index);
            *index += 1;
            match place {
                Place::LeftOut => self.skip_value(),
                _ => return Some(place),
            }
        }
    }

    fn next_member(
        &self,
        object: Place,
        member: &mut usize,
        end: usize,
    ) -> Option<(Place, &'w Member)> {
        while *member < end {
            let found = &self.document.members[*member];
            *member += 1;
            match self.ignored.member(object, self.document.name(found)) {
                Place::LeftOut => {}
                place => return Some((place, found)),
            }
        }
        None
    }

    fn comma(&mut self, has_written: &mut bool) {
        if *has_written {
            self.sink.put(b",");
        }
        *has_written = true;
    }

    /// Goes past a value without writing it.
    fn skip_value(&mut self) {
        let value = Value { document: self.document, at: self.at, object: self.next_object };
        (self.at, self.next_object) = value.end();
    }
}
