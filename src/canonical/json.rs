//! JSON: a canonical form without loss.
//!
//! Two documents have the same form if and only if they have the same value. Every digit, every
//! character, every member and the order of elements is compared. These differences do not matter:
//!
//! - white space, and the order of the members of an object;
//! - the notation of a character: `x` or `\u0078`, a surrogate pair or UTF-8, `/` or `\/`;
//! - the notation of a number: `1`, `1.0`, `1e0`, `10e-1`; and `-0` is `0`.
//!
//! The form is that of RFC 8785 (JSON Canonicalization Scheme), except that numbers keep all their
//! digits instead of being rounded to a double. A number that RFC 8785 would not round is written as
//! RFC 8785 writes it. A number that it would round, such as `9007199254740993`, keeps its value.
//!
//! # What has no form
//!
//! These texts are compared by their raw bytes, because programs reject them or disagree about their
//! meaning:
//!
//! - a text that is not JSON by RFC 8259: empty, incomplete, followed by other text, not UTF-8, or with
//!   a byte order mark (§8.1);
//! - an object with two members of the same name after unescaping (§4);
//! - half of a surrogate pair (§8.2);
//! - arrays and objects nested more than [`MAX_DEPTH`] deep, or more than [`MAX_MEMBERS`] members in
//!   total;
//! - a number other than zero whose exponent has more than 18 digits.
//!
//! # Cost
//!
//! Time is linear in the length of the text, plus the time to sort members by name. Nothing recurses.
//! The text is read twice: first to check it and to record the positions of members, then to write the
//! form. The positions take 16 bytes for each member, and 16 bytes for each object that is not empty.
//! Values are not stored, so arrays of any length take no memory.

mod document;
mod parse;
mod write;

#[cfg(test)]
mod cost_tests;

pub(crate) use document::{Document, JsonValue};
pub use parse::{MAX_DEPTH, MAX_MEMBERS};

use super::JsonPointer;

/// Returns the canonical form of a JSON text, or `None` if it [has no form](self#what-has-no-form).
///
/// Values that `ignore` points to are left out, so a document with such a value has the same form as
/// one without it. Elements of an array can be ignored too. Indexes are those in the text, so
/// `["/0", "/1"]` ignores the first two elements. The ignored values must also be valid: otherwise the
/// text has no form.
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
    fn json_in_any_spelling_has_one_canonical_form() {
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
    fn invalid_json_has_no_canonical_form() {
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
    fn json_that_is_nested_too_deeply_has_no_canonical_form() {
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
    fn values_at_ignored_pointers_are_left_out() {
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
