//! JSON numbers: one canonical form for each value, without losing a digit.

use super::sink::Sink;
use super::work::spent;
use crate::codec::text::digits;

/// The maximum number of digits of an exponent, without leading zeros. It keeps the arithmetic in 64
/// bits. No known program computes with larger exponents.
const EXPONENT_DIGITS: usize = 18;

/// The maximum number of digits before the point in a number without an exponent, as in ECMAScript
/// (Number::toString).
const PLAIN_DIGITS: i64 = 21;

/// Checks the number that starts at `at` and returns where it ends. Returns `None` if the number breaks
/// RFC 8259 §6, or its exponent has too many digits.
pub(super) fn scan(source: &[u8], at: usize) -> Option<usize> {
    let int = at + usize::from(source[at] == b'-');
    let mut end = skip_digits(source, int)?;
    if source[int] == b'0' && end > int + 1 {
        return None;
    }
    if source.get(end) == Some(&b'.') {
        end = skip_digits(source, end + 1)?;
    }
    if matches!(source.get(end), Some(b'e' | b'E')) {
        let digits = end + 1 + usize::from(matches!(source.get(end + 1), Some(b'+' | b'-')));
        end = skip_digits(source, digits)?;
        // The exponent of zero does not matter, so it may be of any length.
        if without_leading_zeros(&source[digits..end]).len() > EXPONENT_DIGITS
            && !Number::read(&source[at..end]).is_zero()
        {
            return None;
        }
    }
    spent(end - at);
    Some(end)
}

/// Returns where a number ends that [`scan`] has checked before.
pub(super) fn skip(source: &[u8], at: usize) -> usize {
    let rest = &source[at..];
    let len = rest
        .iter()
        .position(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
        .unwrap_or(rest.len());
    spent(len);
    at + len
}

/// Returns where the number at `at` ends, if it is only digits, and so few that it is canonical.
pub(super) fn end_of_canonical(source: &[u8], at: usize) -> Option<usize> {
    let end = skip(source, at);
    is_canonical(&source[at..end]).then_some(end)
}

fn is_canonical(token: &[u8]) -> bool {
    token.len() as i64 <= PLAIN_DIGITS && token.iter().all(u8::is_ascii_digit)
}

/// Writes a number that [`scan`] has checked before. All digits except leading and trailing zeros are
/// written, in the format that RFC 8785 §3.2.2.3 (ECMAScript) uses for the digits of a double.
pub(super) fn write(token: &[u8], sink: &mut impl Sink) {
    spent(token.len());
    if is_canonical(token) {
        return sink.put(token);
    }
    let number = Number::read(token);
    if number.is_zero() {
        return sink.put(b"0");
    }
    if number.negative {
        sink.put(b"-");
    }
    let (count, point) = (number.count() as i64, number.point);
    match point {
        _ if count <= point && point <= PLAIN_DIGITS => {
            number.write_digits(0, count, sink);
            sink.put(zeros(point - count));
        }
        1..=PLAIN_DIGITS => {
            number.write_digits(0, point, sink);
            sink.put(b".");
            number.write_digits(point, count, sink);
        }
        -5..=0 => {
            sink.put(b"0.");
            sink.put(zeros(-point));
            number.write_digits(0, count, sink);
        }
        _ => {
            number.write_digits(0, 1, sink);
            if count > 1 {
                sink.put(b".");
                number.write_digits(1, count, sink);
            }
            sink.put(if point > 0 { b"e+" } else { b"e-" });
            sink.put(digits((point - 1).unsigned_abs()).as_bytes());
        }
    }
}

/// A number of the form ± 0.`digits` × 10^`point`.
struct Number<'a> {
    negative: bool,
    /// The digits in two slices, before and after the decimal point, without leading and trailing zeros.
    halves: [&'a [u8]; 2],
    point: i64,
}

impl<'a> Number<'a> {
    fn read(token: &'a [u8]) -> Self {
        let negative = token[0] == b'-';
        let token = &token[usize::from(negative)..];
        let (mantissa, exponent) = match token.iter().position(|byte| matches!(byte, b'e' | b'E')) {
            Some(at) => (&token[..at], exponent(&token[at + 1..])),
            None => (token, 0),
        };
        let (int, fraction) = match mantissa.iter().position(|&byte| byte == b'.') {
            Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
            None => (mantissa, &[][..]),
        };
        let point = exponent.saturating_add(int.len() as i64);

        // Removes trailing zeros of the fraction, and of the integer if the fraction is then empty.
        // Then removes leading zeros, each of which moves the point.
        let fraction = without_trailing_zeros(fraction);
        let int = if fraction.is_empty() { without_trailing_zeros(int) } else { int };
        let significant = [without_leading_zeros(int), fraction];
        let [first, second] = if significant[0].is_empty() {
            [&[][..], without_leading_zeros(fraction)]
        } else {
            significant
        };
        let dropped = int.len() + fraction.len() - first.len() - second.len();
        Self { negative, halves: [first, second], point: point.saturating_sub(dropped as i64) }
    }

    fn is_zero(&self) -> bool {
        self.count() == 0
    }

    fn count(&self) -> usize {
        self.halves[0].len() + self.halves[1].len()
    }

    /// Writes the digits from index `from` up to, but not including, index `to`.
    fn write_digits(&self, from: i64, to: i64, sink: &mut impl Sink) {
        let (from, to) = (from as usize, to as usize);
        let middle = self.halves[0].len();
        sink.put(&self.halves[0][from.min(middle)..to.min(middle)]);
        sink.put(&self.halves[1][from.max(middle) - middle..to.max(middle) - middle]);
    }
}

/// Reads an exponent. The result saturates, which only happens for a zero with a very long exponent.
fn exponent(digits: &[u8]) -> i64 {
    let (negative, digits) = match digits[0] {
        b'-' => (true, &digits[1..]),
        b'+' => (false, &digits[1..]),
        _ => (false, digits),
    };
    let size = digits
        .iter()
        .fold(0i64, |size, digit| size.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    if negative { -size } else { size }
}

fn skip_digits(source: &[u8], at: usize) -> Option<usize> {
    let rest = source.get(at..)?;
    let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    (count > 0).then_some(at + count)
}

fn without_leading_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().position(|&digit| digit != b'0').unwrap_or(digits.len());
    &digits[zeros..]
}

fn without_trailing_zeros(digits: &[u8]) -> &[u8] {
    let kept = digits.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1);
    &digits[..kept]
}

fn zeros(count: i64) -> &'static [u8] {
    &b"000000000000000000000"[..count as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(token: &str) -> Option<String> {
        scan(token.as_bytes(), 0).filter(|&end| end == token.len())?;
        assert_eq!(skip(token.as_bytes(), 0), token.len());
        let mut written = Vec::new();
        write(token.as_bytes(), &mut written);
        Some(String::from_utf8(written).unwrap())
    }

    #[test]
    fn all_spellings_of_a_number_have_one_canonical_form() {
        for (value, spellings) in [
            (
                "0",
                &["0", "-0", "0.0", "-0.000e7", "0e99999999999999999999999", "0E-1", "-0e+0"][..],
            ),
            (
                "1",
                &["1", "1.0", "1e0", "10e-1", "0.1e1", "1E+00", "100000e-5", "0.00001E5", "1e-0"],
            ),
            ("-12.5", &["-12.5", "-1.25e1", "-125e-1", "-0.0125e+3", "-12.50000"]),
            (
                "100000000000000000000",
                &["1e20", "100000000000000000000", "100000000000000000000.0"],
            ),
            ("1e+21", &["1e21", "1000000000000000000000", "10e20"]),
            ("1.5e+21", &["1500000000000000000000"]),
            ("0.000001", &["1e-6", "0.000001", "0.0000010"]),
            ("1e-7", &["0.0000001", "1E-7"]),
            ("1.23e-7", &["0.000000123", "123e-9"]),
            ("1e+999999999999999999", &["1e999999999999999999", "1e000000999999999999999999"]),
            ("1e+1000000000000000000", &["10e999999999999999999"]),
            ("1e-999999999999999999", &["1e-999999999999999999"]),
        ] {
            for spelling in spellings {
                assert_eq!(canonical(spelling).as_deref(), Some(value), "{spelling}");
            }
        }
    }

    #[test]
    fn numbers_that_differ_in_any_digit_have_different_forms() {
        for digits in [
            "9007199254740993",
            "0.1000000000000000055",
            "123456789012345678901",
            "-1.234567890123456789012345678901e+30",
        ] {
            assert_eq!(canonical(digits).as_deref(), Some(digits));
        }
        assert_eq!(
            canonical("1234567890123456789012345678901").as_deref(),
            Some("1.234567890123456789012345678901e+30")
        );
    }

    #[test]
    fn invalid_numbers_are_refused() {
        for token in [
            "-",
            "01",
            "-01",
            "00",
            "1.",
            ".5",
            "1e",
            "1e+",
            "1.e1",
            "-.5",
            "1.5.",
            "1e1.0",
            "--1",
            "1e1000000000000000000",
            "1e-1000000000000000000",
        ] {
            assert_eq!(canonical(token), None, "{token}");
        }
    }
}
