//! Random JSON values and multipart bodies.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::form::{Form, Part};
use super::reference::{Decimal, Value, utf16};

/// Texts with a special spelling in JSON, or a special position in the order of names.
const SPECIAL: [&str; 14] = [
    "\"", "\\", "/", "\u{0}", "\u{1f}", "\n", "\u{7f}", "\u{80}", "é", "\u{d7ff}", "\u{e000}",
    "\u{ffff}", "😀", "\\u0061",
];

pub(crate) fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => "[a-c0-1]",
        2 => any::<char>().prop_map(String::from),
        1 => prop::sample::select(SPECIAL.to_vec()).prop_map(String::from),
    ];
    vec(character, 0..6).prop_map(|characters| characters.concat())
}

pub(crate) fn decimal() -> impl Strategy<Value = Decimal> {
    let exponent =
        prop_oneof![6 => -30i64..30, 1 => -999_999_999_999_999_000..999_999_999_999_999_000i64];
    let digits = prop_oneof![6 => "[0-9]{1,3}", 2 => "[1-9][0-9]{0,40}"];
    (any::<bool>(), digits, exponent)
        .prop_map(|(negative, digits, exponent)| Decimal::new(negative, &digits, exponent))
}

pub(crate) fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        4 => decimal().prop_map(Value::Number),
        3 => text().prop_map(Value::String),
    ];
    scalar.prop_recursive(5, 40, 5, |value| {
        prop_oneof![
            vec(value.clone(), 0..5).prop_map(Value::Array),
            btree_map(text().prop_map(|name| utf16(&name)), value, 0..5).prop_map(Value::Object),
        ]
    })
}

pub(crate) fn form() -> impl Strategy<Value = Form> {
    // The content often resembles a delimiter of the boundaries that are used here.
    let piece = prop::sample::select(vec![
        "\r\n",
        "\r",
        "\n",
        "-",
        "--",
        "--b",
        "--B",
        "x",
        ": ",
        "\0",
        "é",
        "{\"a\":1}",
        "--\r\n",
    ]);
    let content = vec(piece, 0..8).prop_map(|pieces| pieces.concat().into_bytes());
    let field = (
        prop::sample::select(vec!["content-disposition", "content-type", "x-a", "x"]),
        "([a-z\";=/]([ a-z\";=/é]{0,8}[a-z])?)?",
    );
    let fields = vec(field.prop_map(|(name, value)| (name.to_owned(), value.into_bytes())), 0..4);
    let part = (fields, content.clone()).prop_map(|(mut fields, content)| {
        fields.sort_by(|one, other| one.0.cmp(&other.0));
        Part { fields, content }
    });
    let around = prop_oneof![4 => Just(Vec::new()), 1 => content];
    (around.clone(), vec(part, 0..4), around).prop_map(|(preamble, parts, epilogue)| Form {
        preamble,
        parts,
        epilogue,
    })
}
