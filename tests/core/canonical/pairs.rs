//! Forms of pairs are compared by value: their fingerprints have a digest of version 2.

use oncekey::canonical::{fields::LONGEST_NAME, pairs::MOST_PAIRS};
use oncekey::codec::message;
use oncekey::fingerprint::{
    Comparison, Fingerprint, FingerprintSecrets, Fingerprints, RequestParts,
};
use oncekey::{JsonPointer, message_fields};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use crate::support::spelling::Choices;

const REQUEST: RequestParts<'_> = RequestParts {
    method: "POST",
    path: "/pay",
    query: None,
    content_encoding: None,
    content_type: Some("application/x-www-form-urlencoded"),
    body: b"",
    ignore: &[],
};

fn of(body: &str) -> Fingerprints {
    let request = RequestParts { body: body.as_bytes(), ..REQUEST };
    Fingerprints::compute(&request, &FingerprintSecrets::none())
}

/// Compares with a record that was made of the first form, and the other way round.
fn compare(one: &str, other: &str) -> Comparison {
    let result = of(other).compare(&of(one).signing());
    assert_eq!(of(one).compare(&of(other).signing()), result, "{one} {other}");
    result
}

/// Writes a pair as one of many clients would.
fn spell((name, value): &(String, String), choices: &mut Choices) -> String {
    let mut escaped = |text: &str| -> String {
        let byte = |byte: u8| match (byte, choices.below(3)) {
            (b' ', 0) => "+".to_owned(),
            (byte, 0) if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            (byte, 1) => format!("%{byte:02x}"),
            (byte, _) => format!("%{byte:02X}"),
        };
        text.bytes().map(byte).collect()
    };
    let (name, value) = (escaped(name), escaped(value));
    format!("{name}={value}")
}

fn form(pairs: &[(String, String)], seed: u64) -> String {
    let mut choices = Choices(seed);
    pairs.iter().map(|pair| spell(pair, &mut choices)).collect::<Vec<_>>().join("&")
}

/// A text that may be a value: everything but NUL.
fn value() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c &=+%;é😀]{0,6}", "[^\0]{0,6}"]
}

/// Pairs with different names, none of which is a list or the name of a CSRF token.
fn pairs() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = prop_oneof![3 => "[a-c0-2]{1,4}", 1 => "[à-öж-щ]{1,3}", 2 => "card\\[[a-z]{1,3}\\]"];
    btree_map(name, value(), 1..8).prop_map(|pairs| pairs.into_iter().collect())
}

proptest! {
    #![proptest_config(crate::support::cases(256))]

    #[test]
    fn pairs_in_any_order_and_spelling_are_one_request(
        (pairs, shuffled) in pairs().prop_flat_map(|pairs| (Just(pairs.clone()), Just(pairs).prop_shuffle())),
        one: u64, other: u64,
    ) {
        let (one, other) = (form(&pairs, one), form(&shuffled, other));
        prop_assert!(of(&one).signing().pairs_hex().is_some(), "{}", one);
        prop_assert_eq!(compare(&one, &other), Comparison::Same, "{} {}", one, other);
    }

    #[test]
    fn another_name_or_value_or_number_of_pairs_is_another_request(
        pairs in pairs(), at: prop::sample::Index, text in "[a-z&= é]{1,3}", what in 0..4, seed: u64,
    ) {
        let mut changed = pairs.clone();
        let at = at.index(pairs.len());
        match what {
            0 => changed[at].0.push_str(&text),
            1 => changed[at].1.push_str(&text),
            2 => changed.push((pairs[at].0.clone(), text)),
            _ => { changed.remove(at); }
        }
        let (one, other) = (form(&pairs, seed), form(&changed, seed));
        prop_assert_eq!(compare(&one, &other), Comparison::Different, "{} {}", one, other);
    }

    #[test]
    fn pairs_with_equal_names_keep_their_order(
        pairs in pairs(), at: prop::sample::Index, values in vec("[a-c]{1,2}", 2), seed: u64,
    ) {
        let name = &pairs[at.index(pairs.len())].0;
        let twice = |one: &String, other: &String| {
            let [one, other] = [one, other].map(|value| (name.clone(), value.clone()));
            form(&[&[one][..], &pairs, &[other]].concat(), seed)
        };
        let same = values[0] == values[1];
        let result = compare(&twice(&values[0], &values[1]), &twice(&values[1], &values[0]));
        prop_assert_eq!(result == Comparison::Same, same);
    }
}

#[test]
fn only_an_order_without_a_meaning_is_ignored() {
    for (one, other) in [
        ("a=1&b=2", "b=2&a=1"),
        ("note=two+words&a=%2f", "a=/&note=two%20words"),
        ("card[number]=4242&card[exp]=12&a=1", "a=1&card%5Bexp%5D=12&card%5Bnumber%5D=4242"),
        ("items[]=1&items[]=2&to=x", "to=x&items[]=1&items[]=2"),
        ("a=&b=", "b=&a="),
    ] {
        assert_eq!(compare(one, other), Comparison::Same, "{one} {other}");
    }
    for (one, other) in [
        // The last pair counts, or the first, or both.
        ("a=1&a=2", "a=2&a=1"),
        // One field for PHP, and one for ASP.NET.
        ("a.b=1&a_b=2", "a_b=2&a.b=1"),
        ("amount=1&Amount=2", "Amount=2&amount=1"),
        // Rails begins an item where a name repeats.
        ("i[][id]=a&i[][id]=b&i[][n]=1", "i[][id]=a&i[][n]=1&i[][id]=b"),
        // PHP gives the items of a list their numbers in this order.
        ("i[]=a&i[0]=b", "i[0]=b&i[]=a"),
        ("card=1&card[exp]=2", "card[exp]=2&card=1"),
        ("a=1&b=2", "a=2&b=1"),
        ("a=1&b=2", "a=1%26b=2"),
        ("a=1", "a=1&a=1"),
        ("a=%2B", "a=+"),
        ("a=%C3%A9", "a=e"),
        ("ab=c", "a=bc"),
    ] {
        assert_eq!(compare(one, other), Comparison::Different, "{one} {other}");
    }
}

#[test]
fn a_form_that_programs_may_read_differently_is_compared_by_its_bytes() {
    let many = "a=1&".repeat(MOST_PAIRS) + "b=2";
    let long = format!("{}=1&b=2", "n".repeat(LONGEST_NAME + 1));
    for body in [
        "a=1;b=2&c=3",
        "a=%&b=2",
        "a=%u0041&b=2",
        "a=%E9&b=2",
        "a%C3=%A9&b=2",
        "a%00=1&b=2",
        "a=1&b",
        "a=1&&b=2",
        "a=1&b=2&",
        "a=é&b=2",
        "a=1 &b=2",
        "",
        &many,
        &long,
    ] {
        assert_eq!(of(body).signing().pairs_hex(), None, "{body}");
        assert_eq!(compare(body, body), Comparison::Same, "{body}");
        let mut pairs: Vec<_> = body.split('&').collect();
        pairs.reverse();
        if pairs.len() > 1 {
            assert_eq!(compare(body, &pairs.join("&")), Comparison::Different, "{body}");
        }
    }
    for body in [&many["a=1&".len()..], &long[1..]] {
        assert!(of(body).signing().pairs_hex().is_some());
    }
    for other in [
        RequestParts { content_type: Some("text/plain"), ..REQUEST },
        RequestParts { content_type: Some("multipart/form-data; boundary=b"), ..REQUEST },
    ] {
        let other = RequestParts { body: b"a=1&b=2", ..other };
        assert_eq!(Fingerprint::plain(&other).pairs_hex(), None);
    }
}

#[test]
fn ignored_fields_do_not_count_in_any_order() {
    let ignore = [JsonPointer::parse("/nonce").unwrap()];
    let request = |body| {
        let request = RequestParts { body, ignore: &ignore, ..REQUEST };
        Fingerprints::compute(&request, &FingerprintSecrets::parse("new:n,old:o").unwrap())
    };
    let recorded = request(b"_token=1&a=1&nonce=x&b=two+words").signing();
    for same in [
        &b"b=two%20words&a=1"[..],
        b"nonce=y&b=two+words&a=1&pay[_token]=2",
        b"a=1&b=two+words&csrf%5Ftoken=",
    ] {
        assert_eq!(request(same).compare(&recorded), Comparison::Same);
    }
    assert_eq!(request(b"b=two+words&a=2").compare(&recorded), Comparison::Different);
    // A form of ignored fields only, and an empty form.
    assert_eq!(request(b"").compare(&request(b"_token=1").signing()), Comparison::Same);
    let other_secret = FingerprintSecrets::parse("new:other,old:o").unwrap();
    let parts = RequestParts { body: b"b=two%20words&a=1", ignore: &ignore, ..REQUEST };
    let with_other_secret = Fingerprints::compute(&parts, &other_secret);
    assert_eq!(with_other_secret.compare(&recorded), Comparison::Different);
}

/// A fingerprint as a build that knows only version 1 stores and reads it.
#[derive(Debug, PartialEq, minicbor::Encode, minicbor::Decode)]
struct EarlierFingerprint {
    #[n(0)]
    version: u8,
    #[n(1)]
    secret_id: Option<String>,
    #[cbor(n(2), with = "minicbor::bytes")]
    digest: [u8; 32],
}

message_fields!(EarlierFingerprint { version, secret_id, digest });

/// Fingerprints as such a build sends them to a shard.
#[derive(Debug, PartialEq)]
struct EarlierFingerprints {
    plain: EarlierFingerprint,
    keyed: Vec<EarlierFingerprint>,
    whole: Option<Vec<EarlierFingerprint>>,
}

message_fields!(EarlierFingerprints { plain, keyed, whole });

#[test]
fn a_build_that_knows_version_1_reads_the_record_and_writes_it_without_version_2() {
    let form = of("a=1&b=two+words");
    let bytes = minicbor::to_vec(form.signing()).unwrap();
    let read: EarlierFingerprint = minicbor::decode(&bytes).unwrap();
    assert_eq!((read.version, read.secret_id.as_deref()), (1, None));

    let rewritten: Fingerprint = minicbor::decode(&minicbor::to_vec(&read).unwrap()).unwrap();
    assert_eq!(rewritten.digest_hex(), form.signing().digest_hex());
    assert_eq!(rewritten.pairs_hex(), None);
    assert_eq!(form.compare(&rewritten), Comparison::Same);
    assert_eq!(of("b=two+words&a=1").compare(&rewritten), Comparison::Different);
}

#[test]
fn gateways_and_shards_of_both_builds_understand_each_other() {
    for secrets in ["", "new:n,old:o"] {
        let secrets = match secrets {
            "" => FingerprintSecrets::none(),
            list => FingerprintSecrets::parse(list).unwrap(),
        };
        let made = |body| Fingerprints::compute(&RequestParts { body, ..REQUEST }, &secrets);
        let form = made(b"_token=1&a=1&b=two+words");
        // From a new gateway to an earlier shard, which skips digests of versions that a record lacks.
        let sent: EarlierFingerprints = message::decode(&message::encode(&form)).unwrap();
        let signing = sent.keyed.first().unwrap_or(&sent.plain);
        let recorded: Fingerprint = minicbor::decode(&minicbor::to_vec(signing).unwrap()).unwrap();
        assert_eq!(form.compare(&recorded), Comparison::Same);
        let whole: Vec<_> = sent.whole.into_iter().flatten().collect();
        let first_versions = whole.iter().filter(|one| one.version == 1).count();
        assert_eq!((first_versions, whole.len()), (secrets.ids().count() + 1, 2 * first_versions));

        // From an earlier gateway to a new shard.
        let whole = whole.into_iter().filter(|one| one.version == 1).collect();
        let sent = EarlierFingerprints { whole: Some(whole), ..sent };
        let read: Fingerprints = message::decode(&message::encode(&sent)).unwrap();
        assert_eq!(read.compare(&form.signing()), Comparison::Same);
        assert_eq!(read.signing().pairs_hex(), None);
        let reordered = made(b"b=two+words&a=1");
        assert_eq!(reordered.compare(&form.signing()), Comparison::Same);
        assert_eq!(reordered.compare(&read.signing()), Comparison::Different);
    }
}
