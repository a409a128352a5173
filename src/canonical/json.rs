//! JSON: a canonical form that loses nothing.
//!
//! Two documents have one form if and only if they are the same value, told apart by every digit,
//! every character, every member and the order in arrays. These do not matter:
//!
//! - white space, and the order of an object's members;
//! - how a character is written: `x`, `\u0078`; a surrogate pair or UTF-8; `/` or `\/`;
//! - how a number is written: `1`, `1.0`, `1e0`, `10e-1`; and `-0` is `0`.
//!
//! The form is that of RFC 8785 (JSON Canonicalization Scheme), except that numbers keep all their
//! digits instead of being rounded to a double: a number that RFC 8785 would write without rounding
//! is written the same here, and one that it would round (`9007199254740993`, an amount of 31
//! digits) stays what it is.
//!
//! # What has no form
//!
//! These are compared by their raw bytes, since programs disagree about what they mean, or do not
//! read them:
//!
//! - what is no JSON text by RFC 8259: empty, cut off, followed by more, not UTF-8, with a byte
//!   order mark (§8.1);
//! - an object in which a member's name is repeated after unescaping (§4);
//! - half of a surrogate pair (§8.2);
//! - arrays and objects nested more than [`MAX_DEPTH`] deep, or more than [`MAX_MEMBERS`] members
//!   in all;
//! - a number, other than zero, whose exponent has more than 18 digits.
//!
//! # What it costs
//!
//! Time grows with the length of the text, plus the sorting of members by name; nothing recurses.
//! The text is walked twice: first to check it and to note where members are, 16 bytes each and 16
//! for each object that has any, then to write it. Values are not stored, so an array of any length
//! takes no memory.

mod parse;
mod write;

#[cfg(test)]
mod cost_tests;

use super::JsonPointer;
use super::lookalike::are_lookalikes;
use super::sink::Sink;
use super::work::spent;
use super::{number, text};

/// How deep arrays and objects may be nested: `[[0]]` is 2 deep. The limit that common parsers
/// have.
pub const MAX_DEPTH: usize = 128;

/// How many members all objects of a document may have together. It bounds the memory that a
/// hostile body takes to about 24 MiB, beside names with escapes, which are copied.
pub const MAX_MEMBERS: usize = 1 << 19;

/// The canonical form of a JSON text, or `None` if it [has none](self#what-has-no-form).
///
/// What `ignore` points at is left out: a document with it and one without it have one form. An
/// element of an array can be left out too; the others keep the index that they have in the text,
/// so that `["/0", "/1"]` leaves out the first two. All of the text must have a form, also what is
/// left out.
///
/// ```
/// use oncekey::canonical::{JsonPointer, json};
///
/// let ignore = [JsonPointer::parse("/nonce")?];
/// let form = json::canonicalize(br#"{"nonce": 7, "b": 1.50, "a": "\u0078"}"#, &ignore);
/// assert_eq!(form.as_deref(), Some(&br#"{"a":"x","b":1.5}"#[..]));
/// # Ok::<(), oncekey::canonical::PointerError>(())
/// ```
pub fn canonicalize(body: &[u8], ignore: &[JsonPointer]) -> Option<Vec<u8>> {
    let mut form = Vec::with_capacity(body.len());
    Document::parse(body)?.write(ignore, &mut form);
    Some(form)
}

/// A JSON text that has a canonical form, and where to find its members in their order.
pub(crate) struct Document<'a> {
    source: &'a [u8],
    /// The names that have escapes, without them.
    unescaped: Vec<u8>,
    /// Those of one object stand together, sorted.
    members: Vec<Member>,
    /// Objects that have members, in the order of their opening braces.
    objects: Vec<Object>,
}

struct Member {
    /// Where the name is: in the source, or past its end in `unescaped`.
    name: u32,
    name_len: u32,
    value: u32,
    /// How many objects were opened before the value.
    objects_before: u32,
}

#[derive(Default)]
struct Object {
    first: u32,
    count: u32,
    /// Just after the closing brace.
    end: u32,
    /// How many objects were opened before that.
    objects_before_end: u32,
}

impl<'a> Document<'a> {
    pub(crate) fn parse(source: &'a [u8]) -> Option<Self> {
        // Positions have 32 bits, and names use one of them to tell two places apart.
        let fits = source.len() <= i32::MAX as usize;
        (fits && std::str::from_utf8(source).is_ok()).then(|| parse::Walk::new(source).run())?
    }

    pub(crate) fn write(&self, ignore: &[JsonPointer], sink: &mut impl Sink) {
        write::walk(self, ignore, sink);
    }

    /// The value that is the whole document.
    pub(crate) fn root(&self) -> Value<'_> {
        Value { document: self, at: self.skip_space(0), object: 0 }
    }

    /// Returns the value that the steps of a pointer lead to (RFC 6901 §4).
    pub(crate) fn find(&self, steps: &[impl AsRef<str>]) -> Option<Value<'_>> {
        steps.iter().try_fold(self.root(), |value, step| value.step(step.as_ref()))
    }

    /// Returns the value that the steps of a pointer lead to, unless some reader may find another one:
    /// on the way there is a member whose name [differs in case alone](super::lookalike).
    pub(crate) fn find_plainly(
        &self,
        steps: &[impl AsRef<str>],
    ) -> Result<Option<Value<'_>>, Lookalike> {
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

    fn name(&self, member: &Member) -> &[u8] {
        let (at, len) = (member.name as usize, member.name_len as usize);
        match at.checked_sub(self.source.len()) {
            None => &self.source[at..at + len],
            Some(at) => &self.unescaped[at..at + len],
        }
    }

    /// The first position from `at` that is no white space.
    fn skip_space(&self, at: usize) -> usize {
        let rest = &self.source[at..];
        let spaces = rest
            .iter()
            .position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
            .unwrap_or(rest.len());
        spent(spaces + 1);
        at + spaces
    }

    /// Where the array or object that opens at `at` ends, if it has nothing in it.
    fn end_of_empty(&self, at: usize) -> Option<usize> {
        let close = if self.source[at] == b'[' { b']' } else { b'}' };
        let inside = self.skip_space(at + 1);
        (self.source.get(inside) == Some(&close)).then_some(inside + 1)
    }
}

/// A member's name differs in case alone from one that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lookalike;

/// A value of a document.
#[derive(Clone, Copy)]
pub(crate) struct Value<'d> {
    document: &'d Document<'d>,
    at: usize,
    /// How many objects were opened before it; if it is an object with members, the index of it.
    object: usize,
}

impl<'d> Value<'d> {
    /// The member of this name, if this is an object that has one.
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

    /// Returns its members, in their order; none of what is no object.
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

    /// The text of a string, or a number in its canonical spelling.
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

    /// Returns whether this is a number.
    pub(crate) fn is_number(self) -> bool {
        matches!(self.document.source[self.at], b'-' | b'0'..=b'9')
    }

    /// Returns what one step of a pointer leads to: a member, or an element by its index.
    fn step(self, step: &str) -> Option<Self> {
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

    /// Returns where the value ends, and how many objects were opened before that.
    fn end(self) -> (usize, usize) {
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
            // A comma is met within an array only, so the depth is not nought after it.
            if depth == 0 {
                return (at, object);
            }
        }
    }
}

/// Returns where `true`, `false` or `null` ends.
fn skip_word(source: &[u8], at: usize) -> usize {
    at + if source[at] == b'f' { 5 } else { 4 }
}

/// Reads a decimal index without leading zeros.
fn array_index(step: &str) -> Option<usize> {
    let is_index =
        step.bytes().all(|byte| byte.is_ascii_digit()) && (step == "0" || !step.starts_with('0'));
    is_index.then(|| step.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> Option<String> {
        canonicalize(text.as_bytes(), &[]).map(|form| String::from_utf8(form).unwrap())
    }

    #[test]
    fn spelling_does_not_matter() {
        for (form, texts) in [
            ("{}", &["{}", " { \n\t} \r"][..]),
            ("[]", &["[ ]"]),
            (
                r#"{"a":[1,{"b":null,"c":true}],"d":"x"}"#,
                &[
                    r#" { "d" : "\u0078" , "a" : [ 1.0 , { "c" : true , "b" : null } ] } "#,
                    r#"{"\u0061":[1e0,{"\u0063":true,"b":null}],"d":"x"}"#,
                ],
            ),
            (r#"[[],{},[[]],[{}],{"":{}}]"#, &[r#"[[ ],{ },[ [ ] ] , [{ }],{"" :{} }]"#]),
            ("false", &["false", " false "]),
            ("\"/\"", &[r#""\/""#]),
        ] {
            assert_eq!(canonical(form).as_deref(), Some(form));
            for text in texts {
                assert_eq!(canonical(text).as_deref(), Some(form), "{text}");
            }
        }
    }

    #[test]
    fn what_has_no_form_is_none() {
        for text in [
            "",
            " ",
            "\u{FEFF}{}",
            "{",
            "[",
            "}",
            "]",
            "[}",
            "{]",
            "[1",
            "[1,",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{,}",
            "{a:1}",
            "{1:1}",
            "{\"a\" 1}",
            "{\"a\":1 \"b\":2}",
            "{\"a\":1]",
            "[1}",
            "nul",
            "nulL",
            "True",
            "NaN",
            "Infinity",
            "1 2",
            "{} {}",
            "[]]",
            "// x\n1",
            "'a'",
            "\u{a0}1",
            "\u{b}1",
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"b":2,"\u0061":3}"#,
            r#"[{"x":{"":0,"":0}}]"#,
            r#"{"a":"\ud800"}"#,
            r#"{"\ud800":0}"#,
            "[1e1000000000000000000]",
        ] {
            assert_eq!(canonical(text), None, "{text}");
        }
        for bytes in
            [&b"\"\xff\""[..], b"\"\xed\xa0\x80\"", b"\xEF\xBB\xBF1", b"\xff\xfe1\0", b"1\0"]
        {
            assert_eq!(canonicalize(bytes, &[]), None);
        }
    }

    #[test]
    fn depth_has_a_bound() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nested = |depth: usize| format!("{}0{}", open.repeat(depth), close.repeat(depth));
            assert_eq!(canonical(&nested(MAX_DEPTH)), Some(nested(MAX_DEPTH)));
            assert_eq!(canonical(&nested(MAX_DEPTH + 1)), None);
        }
        let empty_at =
            |depth: usize| format!("{}{{}}{}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        assert!(canonical(&empty_at(MAX_DEPTH)).is_some());
        assert_eq!(canonical(&empty_at(MAX_DEPTH + 1)), None);
    }

    #[test]
    fn pointers_leave_out() {
        for (pointers, text, form) in [
            (&["/a"][..], r#"{"b":1,"a":{"b":2}}"#, r#"{"b":1}"#),
            (&["/a"], r#"{"\u0061":1}"#, "{}"),
            (&["/a"], r#"{"b":{"a":1}}"#, r#"{"b":{"a":1}}"#),
            (&["/a"], "[1]", "[1]"),
            (
                &["/a/b", "/a/c/0"],
                r#"{"a":{"b":1,"c":[[{"b":1}],{"z":[{"y":1}]}],"d":{"b":0}}}"#,
                r#"{"a":{"c":[{"z":[{"y":1}]}],"d":{"b":0}}}"#,
            ),
            (&["/0", "/1"], "[1,2,3]", "[3]"),
            (
                &["/1"],
                r#"[ {"b":{"c":1}} , [ {"x":[{}, {"y":[]}]} , "]" ] , {"a":1} ]"#,
                r#"[{"b":{"c":1}},{"a":1}]"#,
            ),
            (
                &["/0/x", "/2"],
                r#"[{"x":{"q":{"r":1}},"y":2},{"x":1},{"z":{}}]"#,
                r#"[{"y":2},{"x":1}]"#,
            ),
            (&["/-", "/01", "/3", "/+1"], "[1,2,3]", "[1,2,3]"),
            (&["/a", "/a/b"], r#"{"a":{"b":1,"c":2},"d":0}"#, r#"{"d":0}"#),
            (&["/a/b", "/a"], r#"{"a":{"b":1,"c":2},"d":0}"#, r#"{"d":0}"#),
            (&["/", "/~0~1", "/é"], r#"{"":1,"~/":2,"é":3,"e":4}"#, r#"{"e":4}"#),
            (&["/a"], "7", "7"),
        ] {
            let pointers: Vec<_> =
                pointers.iter().map(|pointer| JsonPointer::parse(pointer).unwrap()).collect();
            assert_eq!(
                canonicalize(text.as_bytes(), &pointers).as_deref(),
                Some(form.as_bytes()),
                "{text}"
            );
        }
        let nonce = [JsonPointer::parse("/nonce").unwrap()];
        for text in [r#"{"nonce":1,"nonce":2}"#, r#"{"nonce":"\ud800"}"#] {
            assert_eq!(
                canonicalize(text.as_bytes(), &nonce),
                None,
                "what is left out must have a form too"
            );
        }
    }
}
