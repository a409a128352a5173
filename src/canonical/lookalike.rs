//! Names of members that some JSON readers treat as equal.

use super::case::folded_letters;

/// Returns whether two names are different, but equal for a lenient reader. Go's `encoding/json` and
/// ASP.NET ignore case. The JSON format of Protocol Buffers also ignores a `_` between words
/// (`outTradeNo` is `out_trade_no`).
///
/// Case is folded by the rules of Unicode, so that `K` (the Kelvin sign) equals `k` and `ſ` equals `s`.
pub(super) fn are_lookalikes(one: &str, other: &str) -> bool {
    one != other && folded(one).eq(folded(other))
}

fn folded(name: &str) -> impl Iterator<Item = char> {
    let inner = name.trim_matches('_');
    let outer = name.len() - inner.len();
    let letters = inner.chars().filter(|&letter| letter != '_');
    core::iter::repeat_n('_', outer).chain(folded_letters(letters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_only_in_case_look_alike_in_every_alphabet() {
        for (one, other) in [
            ("out_trade_no", "OUT_TRADE_NO"),
            ("out_trade_no", "Out_Trade_No"),
            ("out_trade_no", "outTradeNo"),
            ("outTradeNo", "out_trade_no"),
            ("key", "\u{212a}ey"),
            ("sku", "\u{17f}ku"),
            ("id", "\u{131}d"),
            ("id", "\u{130}d"),
            ("straße", "STRASSE"),
            ("straße", "STRA\u{1e9e}E"),
            ("σας", "ΣΑΣ"),
            ("номер", "Номер"),
            ("µ", "Μ"),
            ("å", "\u{212b}"),
            ("_id", "_ID"),
        ] {
            assert!(are_lookalikes(one, other), "{one} {other}");
            assert!(are_lookalikes(other, one), "{other} {one}");
        }
        for (one, other) in [
            ("no", "no"),
            ("no", "noo"),
            ("id", "_id"),
            ("id", "id_"),
            ("no", "n0"),
            ("", "_"),
            ("a", "á"),
            ("out-trade-no", "out_trade_no"),
            ("訂", "单"),
        ] {
            assert!(!are_lookalikes(one, other), "{one} {other}");
        }
    }
}
