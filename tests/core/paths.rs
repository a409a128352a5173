//! Paths as origins may read them, as a table of spellings and with random paths.

use oncekey::request::path::{
    has_dot_segments, is_in_folder, leaves_root, lenient_readings, normalize,
};
use oncekey::{LookUps, Route};
use proptest::prelude::*;

#[test]
fn a_path_has_one_spelling() {
    for (path, spelt) in [
        ("/", "/"),
        ("/v1/orders", "/v1/orders"),
        ("/v1/%6frder%73", "/v1/orders"),
        ("/%7E%2d%5F%2Ea", "/~-_.a"),
        ("/a%2fb%2Fc", "/a%2fb%2Fc"),
        ("/%25%36f", "/%256f"),
        ("/%", "/%"),
        ("/%6", "/%6"),
        ("/%zz%41", "/%zzA"),
        ("/%c3%a9", "/%c3%a9"),
        ("/é%41", "/éA"),
    ] {
        assert_eq!(normalize(path), spelt, "{path}");
        assert_eq!(normalize(spelt), spelt, "once is enough: {path}");
    }
}

#[test]
fn a_path_that_goes_up_past_its_start_leads_out() {
    for path in [
        "/..",
        "/..%2f",
        "/%2e%2e%2fa",
        "/..%5ca",
        "/..\\a",
        "/..;/a",
        "/..;x=1/a",
        "/..%3b/a",
        "/%252e%252e/a",
        "/..%252fa",
        "/%25252e%25252e/a",
        "/v1/..;/..;/a",
        "/v1/..%2f..%2fa",
        "/a/./..;/..;/x",
        "//..;/a",
        // For some origins an escaped slash is not a separator, so this path leads up twice from one segment.
        "/a%2fb/..;/..;/c",
        // A dot counts as one even if it appears only after the last round of decoding.
        "/.%2525252f..",
    ] {
        assert!(leaves_root(path), "{path}");
    }
    for path in [
        "",
        "/",
        "/a/..;/b",
        "/a/b/..%2f..%2fc",
        "/...",
        "/..a",
        "/a..",
        "/.;/a",
        "/%",
        "/a%2fb/..;/c",
    ] {
        assert!(!leaves_root(path), "{path}");
    }
}

#[test]
fn a_folder_is_found_in_every_reading() {
    for path in [
        "/hooks/a",
        "/Hooks/",
        "/%68ooks/a",
        "/hooks%252fa",
        "/;/hooks;x/a",
        "/a%2fb/..;/hooks/a",
        "/x/..%252fhooks/a",
    ] {
        assert!(is_in_folder(path, "hooks"), "{path}");
    }
    for path in ["/hooks", "/a/hooks/b", "/hookss/a", "/", "", "/x/../y"] {
        assert!(!is_in_folder(path, "hooks"), "{path}");
    }
}

#[test]
fn dots_are_found_by_readers_that_ignore_slashes_parameters_and_case() {
    for path in ["/V1//orders/", "/v1/x/..;/orders", "/v1/%2e/orders;a=b", "/..;/v1%2forders"] {
        assert!(lenient_readings(path).any(|reading| reading == "/v1/orders"), "{path}");
    }
    assert!(!lenient_readings("/v1/x/orders").any(|reading| reading == "/v1/orders"));
}

#[test]
fn a_value_cannot_change_the_path_of_a_look_up() {
    let look_ups = LookUps::parse("POST:/o:/find/{/no}?no={/no}#/id").unwrap();
    let target = |no: &str| {
        let body = format!("{{\"no\":{no:?}}}");
        let found = look_ups.find("POST", "/o", Some("application/json"), body.as_bytes());
        found.map(|look_up| look_up.target)
    };
    assert_eq!(
        target("a/b?c#d&e").as_deref(),
        Some("/find/a%2Fb%3Fc%23d%26e?no=a%2Fb%3Fc%23d%26e")
    );
    assert_eq!(target("a..b").as_deref(), Some("/find/a..b?no=a..b"));
    for no in
        ["..", ".", "../admin", "a/../../admin", "..;/admin", "%2e%2e", "%252e%252e/x", "x/.."]
    {
        assert_eq!(target(no), None, "{no}");
    }
    assert_eq!(target("..\u{5c}admin"), None);
}

proptest! {
    #[test]
    fn no_path_causes_a_panic_and_lenient_readings_match_whatever_the_plain_reading_matches(
        path in "(/|%2[ef5]|%5c|\\.|;|\\\\|%|[aA]|webhooks|\\PC){0,24}",
    ) {
        let path = format!("/{path}");
        let spelt = normalize(&path);
        prop_assert_eq!(normalize(&spelt), spelt.clone());
        prop_assert_eq!(leaves_root(&path), leaves_root(&spelt));
        let _ = (is_in_folder(&path, "webhooks"), has_dot_segments(&path), lenient_readings(&path).count());
        // A rule that matches the exact path also matches for a lenient reader.
        let route = Route::parse("POST:/*").unwrap();
        prop_assert!(!route.matches("POST", &path) || route.could_match("POST", &path));
    }

    #[test]
    fn a_path_that_a_lenient_origin_resolves_above_its_start_leads_out(
        ups in 1_usize..4,
        steps in prop::collection::vec("[a-z]{1,3}", 0..3),
        dots in prop::sample::select(vec!["..;", "..%2f", "%2e%2e%2f", "..%5c", "%252e%252e"]),
    ) {
        let path = format!("/{}{}x", steps.iter().map(|one| format!("{one}/")).collect::<String>(), format!("{dots}/").repeat(ups));
        prop_assert_eq!(leaves_root(&path), ups > steps.len(), "{}", path);
    }
}
