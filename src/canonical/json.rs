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
mod document;
mod parse;
mod write;

#[cfg(test)]
mod cost_tests;

pub(crate) use document::{Document, Value};
pub use parse::{MAX_DEPTH, MAX_MEMBERS};

use super::JsonPointer;

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
