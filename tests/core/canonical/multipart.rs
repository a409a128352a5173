use oncekey::canonical::multipart::{MAX_FIELDS, canonicalize};
use proptest::prelude::*;

use crate::support::change::change_form;
use crate::support::form::{self, spell};
use crate::support::random::form;
use crate::support::spelling::Choices;

const TYPE: &str = "multipart/form-data; boundary=B";

fn canonical(body: &str) -> Option<Vec<u8>> {
    let canonical = canonicalize(TYPE, body.as_bytes());
    assert_eq!(canonical, form::read("B", body.as_bytes()).as_ref().map(form::write), "{body:?}");
    canonical
}

proptest! {
    #![proptest_config(crate::support::cases(500))]

    #[test]
    fn two_spellings_have_one_canonical_form(form in form(), one: u64, other: u64) {
        let expected = Some(form::write(&form));
        for seed in [one, other] {
            let (content_type, body) = spell(&form, &mut Choices(seed));
            let found = canonicalize(&content_type, &body);
            let shown = String::from_utf8_lossy(&body);
            prop_assert_eq!(&found, &expected, "{} {:?}", content_type, shown);
        }
    }

    #[test]
    fn one_change_makes_another_canonical_form(form in form(), change: u64, one: u64, other: u64) {
        let mut changed = form.clone();
        change_form(&mut changed, &mut Choices(change));
        prop_assume!(changed != form);
        let [one, other] = [(&form, one), (&changed, other)].map(|(form, seed)| {
            let (content_type, body) = spell(form, &mut Choices(seed));
            canonicalize(&content_type, &body)
        });
        prop_assert_ne!(one, other);
    }

    #[test]
    fn any_pieces_are_read_as_the_reference_reads_them(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "--B", "--B\r\n", "\r\n--B\r\n", "\r\n--B--", "\r\n--B--\r\n", "\r\n\r\n", "\r\n", "\r", "\n",
            "--", " ", "\t", "a: b\r\n", "A:\r\n", "a :b", ":", "a", "\0", "é",
        ]), 0..14),
    ) {
        canonical(&pieces.concat());
        canonical(&format!("--B\r\n{}\r\n--B--", pieces.concat()));
    }

    #[test]
    fn no_bytes_cause_a_panic(
        content_type in r"multipart/[a-z]{0,2};? ?(boundary=)?\PC{0,6}", body: Vec<u8>,
    ) {
        canonicalize(&content_type, &body);
    }
}

#[test]
fn well_formed_bodies_have_a_canonical_form() {
    for body in [
        "--B--",
        "--B--\r\n",
        "\r\n--B--",
        "--B\r\n\r\n\r\n--B--",
        "--B \t\r\na:1\r\n\r\nx\r\n--B-- \r\nepilogue\r\n--B\r\n",
        "preamble\r\n--B\r\n\r\nx\r\n--B--",
        "--B\r\n\r\n\n--B\r\nx--B--\r\r\n--B--",
        "--B\r\n\r\n-\r\n-B\r\n--\r\n--A\r\n--b\r\n --B\r\n--B--",
        "--B\r\n\r\n\r\r\n--B--",
        &format!("--B\r\n{}\r\n\r\n--B--", "a:\r\n".repeat(MAX_FIELDS)),
    ] {
        assert!(canonical(body).is_some(), "{body:?}");
    }
}

#[test]
fn malformed_bodies_have_no_canonical_form() {
    for body in [
        "",
        "x",
        "--B",
        "--B\r\n",
        "--B\r\n\r\nx",
        "--B\r\n\r\nx\r\n--B\r\n",
        "--B\r\n\r\nx\n--B--",
        "\n--B--",
        "--Bx\r\n\r\n\r\n--B--",
        "--B\r\n\r\nx\r\n--Bx\r\n--B--",
        "--B\r\n\r\nx\r\n--B-\r\n--B--",
        "--B\r\n\r\nx\r\n--B--x",
        "--B\r\n\r\nx\r\n--B--\n",
        "--B\r\n--B--",
        "--B\r\n\r\n--B--",
        "--B\r\n--B: x\r\n\r\n\r\n--B--",
        "--B\r\na:1\r\n--B--",
        "--B\r\na:1\r\n b\r\n\r\n\r\n--B--",
        "--B\r\na\r\n\r\n\r\n--B--",
        "--B\r\n:1\r\n\r\n\r\n--B--",
        "--B\r\na :1\r\n\r\n\r\n--B--",
        "--B\r\na:1\n2\r\n\r\n\r\n--B--",
        "--B\r\na:1\r2\r\n\r\n\r\n--B--",
        "--B\r\na:\0\r\n\r\n\r\n--B--",
        "--B\n\n\n--B--",
        &format!("--B\r\n{}\r\n\r\n--B--", "a:\r\n".repeat(MAX_FIELDS + 1)),
    ] {
        assert_eq!(canonical(body), None, "{body:?}");
    }
    let body = b"--B\r\n\r\nx\r\n--B--";
    for content_type in [
        "multipart/form-data",
        "multipart/form-data; boundary=b",
        "multipart/form-data; boundary=B; boundary=B",
        "text/plain; boundary=B",
    ] {
        assert_eq!(canonicalize(content_type, body), None, "{content_type}");
    }
    assert!(canonicalize("multipart/mixed; boundary=\"B\"", body).is_some());
}

#[test]
fn the_order_and_the_ends_of_parts_count() {
    let bodies = [
        "--B\r\nn: a\r\n\r\n1\r\n--B\r\nn: b\r\n\r\n2\r\n--B--",
        "--B\r\nn: b\r\n\r\n2\r\n--B\r\nn: a\r\n\r\n1\r\n--B--",
        "--B\r\nn: a\r\n\r\n1\r\n--B\r\n\r\nn: b\r\n\r\n2\r\n--B--",
        "--B\r\nn: a\r\nn: b\r\n\r\n1\r\n--B--",
        "--B\r\nn: b\r\nn: a\r\n\r\n1\r\n--B--",
        "--B\r\nn: a, b\r\n\r\n1\r\n--B--",
        "--B\r\nn: A, b\r\n\r\n1\r\n--B--",
        "--B\r\n\r\n1\r\n--B--",
        "--B\r\n\r\n1\r\n\r\n--B--",
        "--B\r\n\r\n\r\n1\r\n--B--",
        "--B--",
        "--B\r\n\r\n\r\n--B--",
        "1\r\n--B--",
        "--B--\r\n1",
    ];
    for (index, one) in bodies.iter().enumerate() {
        for other in &bodies[index + 1..] {
            assert_ne!(canonical(one), canonical(other), "{one:?} {other:?}");
        }
    }
}
