//! HTTP-dates (RFC 9110 §5.6.7).
//!
//! The `httpdate` crate was tried. It ignores white space around a date, rejects leap seconds, and
//! always reads the two-digit year `70` as 1970, although the RFC makes two-digit years relative to the
//! present. It also returns a `SystemTime`, which the core does not use otherwise.

use crate::time::UnixMillis;

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const LONG_DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A day in milliseconds.
const DAY: u64 = 86_400_000;

/// Parses an HTTP-date in one of its three forms. Returns `None` for any other spelling, for a day
/// that does not exist, for a wrong day of the week, and for a date before 1970.
///
/// | form | |
/// |---|---|
/// | IMF-fixdate | `Sun, 06 Nov 1994 08:49:37 GMT` |
/// | RFC 850 | `Sunday, 06-Nov-94 08:49:37 GMT`, a year that would be more than 50 years after `now` is in the past |
/// | asctime | `Sun Nov  6 08:49:37 1994` |
pub fn parse_http_date(value: &str, now: UnixMillis) -> Option<UnixMillis> {
    let text = Cursor(value.as_bytes());
    imf_fixdate(text).or_else(|| rfc850(text, now)).or_else(|| asctime(text))
}

/// Formats a time as an HTTP-date, as in `Sun, 06 Nov 1994 08:49:37 GMT`. A time after the year 9999 becomes
/// the last second of that year, because an HTTP-date has four digits for the year.
pub fn format_http_date(time: UnixMillis) -> String {
    let time = time.min(UnixMillis::new(253_402_300_799_000));
    let (days, seconds) = (time.as_u64() / DAY, time.as_u64() % DAY / 1000);
    let (year, weekday) = (year_of(time), DAYS[(days as usize + 4) % 7]);
    let (mut month, mut day) = (0, days - days_before(year));
    while day >= days_in(year, month) {
        day -= days_in(year, month);
        month += 1;
    }
    let (month, day) = (MONTHS[month as usize], day + 1);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

fn imf_fixdate(mut text: Cursor<'_>) -> Option<UnixMillis> {
    let weekday = text.one_of(&DAYS)?;
    text.literal(", ")?;
    let day = text.number(2)?;
    text.literal(" ")?;
    let month = text.one_of(&MONTHS)?;
    text.literal(" ")?;
    let year = text.number(4)?;
    text.literal(" ")?;
    let seconds = text.time_of_day()?;
    text.literal(" GMT")?;
    text.end()?;
    point(year, month, day, weekday, seconds)
}

fn rfc850(mut text: Cursor<'_>, now: UnixMillis) -> Option<UnixMillis> {
    let weekday = text.one_of(&LONG_DAYS)?;
    text.literal(", ")?;
    let day = text.number(2)?;
    text.literal("-")?;
    let month = text.one_of(&MONTHS)?;
    text.literal("-")?;
    let year = nearest_year(text.number(2)?, now);
    text.literal(" ")?;
    let seconds = text.time_of_day()?;
    text.literal(" GMT")?;
    text.end()?;
    point(year, month, day, weekday, seconds)
}

fn asctime(mut text: Cursor<'_>) -> Option<UnixMillis> {
    let weekday = text.one_of(&DAYS)?;
    text.literal(" ")?;
    let month = text.one_of(&MONTHS)?;
    text.literal(" ")?;
    let day = match text.literal(" ") {
        Some(()) => text.number(1)?,
        None => text.number(2)?,
    };
    text.literal(" ")?;
    let seconds = text.time_of_day()?;
    text.literal(" ")?;
    let year = text.number(4)?;
    text.end()?;
    point(year, month, day, weekday, seconds)
}

/// The part of the text that is not read yet.
#[derive(Clone, Copy)]
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn literal(&mut self, expected: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(expected.as_bytes())?;
        Some(())
    }

    fn one_of(&mut self, names: &[&str]) -> Option<u64> {
        let found = names.iter().position(|name| self.0.starts_with(name.as_bytes()))?;
        self.0 = &self.0[names[found].len()..];
        Some(found as u64)
    }

    fn number(&mut self, digits: usize) -> Option<u64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        number.iter().try_fold(0, |value, byte| match byte {
            b'0'..=b'9' => Some(value * 10 + u64::from(byte - b'0')),
            _ => None,
        })
    }

    /// Reads a time of day and returns it in seconds since midnight. A leap second (`:60`) is allowed.
    fn time_of_day(&mut self) -> Option<u64> {
        let hour = self.number(2)?;
        self.literal(":")?;
        let minute = self.number(2)?;
        self.literal(":")?;
        let second = self.number(2)?;
        (hour < 24 && minute < 60 && second <= 60).then_some((hour * 60 + minute) * 60 + second)
    }

    fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

/// Returns the point in time of a date. `month` and `weekday` count from 0, `day` from 1, and
/// `seconds` from midnight.
fn point(year: u64, month: u64, day: u64, weekday: u64, seconds: u64) -> Option<UnixMillis> {
    if year < 1970 || day < 1 || day > days_in(year, month) {
        return None;
    }
    let days = days_before(year) + (0..month).map(|m| days_in(year, m)).sum::<u64>() + day - 1;
    // The first day of 1970 was a Thursday.
    let is_that_day = (days + 4) % 7 == weekday;
    // Four-digit years cannot overflow. A two-digit year can, if the clock is wrong by millions of years.
    let millis = (days * 86_400 + seconds).checked_mul(1000)?;
    is_that_day.then_some(UnixMillis::new(millis))
}

/// Returns the days from the epoch to the first of January of a year, which must not be before 1970.
fn days_before(year: u64) -> u64 {
    let leap_years = |year: u64| year / 4 - year / 100 + year / 400;
    (year - 1970) * 365 + leap_years(year - 1) - leap_years(1969)
}

fn days_in(year: u64, month: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        1 if is_leap => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

/// Returns the latest year that ends in these two digits and is at most 50 years after `now`
/// (RFC 9110 §5.6.7).
fn nearest_year(two_digits: u64, now: UnixMillis) -> u64 {
    let last = year_of(now) + 50;
    last - (last - two_digits) % 100
}

fn year_of(now: UnixMillis) -> u64 {
    const MEAN_YEAR: u64 = 31_556_952_000;
    // Around New Year, this estimate may be one year too high or too low.
    let year = 1970 + now.as_u64() / MEAN_YEAR;
    let today = now.as_u64() / DAY;
    if today < days_before(year) {
        year - 1
    } else if today >= days_before(year + 1) {
        year + 1
    } else {
        year
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis::new(1_764_000_000_000);

    fn seconds(value: &str) -> Option<u64> {
        parse_http_date(value, NOW).map(|point| point.as_u64() / 1000)
    }

    #[test]
    fn the_three_forms_of_a_date_are_read_as_the_same_second() {
        for value in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(seconds(value), Some(784_111_777), "{value}");
        }
        assert_eq!(seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(seconds("Thu, 29 Feb 2024 23:59:59 GMT"), Some(1_709_251_199));
        assert_eq!(seconds("Sat, 31 Dec 2016 23:59:60 GMT"), Some(1_483_228_800));
        assert_eq!(seconds("Fri, 31 Dec 9999 23:59:59 GMT"), Some(253_402_300_799));
    }

    #[test]
    fn a_formatted_time_is_read_as_the_same_second() {
        for (millis, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777_999, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (1_709_251_199_000, "Thu, 29 Feb 2024 23:59:59 GMT"),
            (253_402_300_799_000, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (u64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            assert_eq!(format_http_date(UnixMillis::new(millis)), text);
        }
        // A step that meets every day of the week, of the month and of the year.
        for time in (0..253_402_300_800_000).step_by(86_400_000 * 11 + 12_345_000) {
            let time = UnixMillis::new(time);
            assert_eq!(parse_http_date(&format_http_date(time), time), Some(time));
        }
    }

    #[test]
    fn dates_with_a_small_error_are_refused() {
        for value in [
            "",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "sun, 06 nov 1994 08:49:37 gmt",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 +0000",
            "Sun, 06 Nov 1994 08:49:37",
            " Sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT ",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:60:00 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT",
            "Wed, 29 Feb 2023 08:49:37 GMT",
            "Mon, 31 Nov 1994 08:49:37 GMT",
            "Wed, 31 Dec 1969 23:59:59 GMT",
            "Sun Nov 6 08:49:37 1994",
            "Sun Nov 06 08:49:37 94",
            "Sunday, 06-Nov-1994 08:49:37 GMT",
            "1994-11-06T08:49:37Z",
            "784111777",
            "-3",
            "1.5",
        ] {
            assert_eq!(seconds(value), None, "{value:?}");
        }
    }

    #[test]
    fn a_year_of_two_digits_is_near_the_present() {
        for (digits, now, year) in [
            (94, 2025, 1994),
            (75, 2025, 2075),
            (76, 2025, 1976),
            (1, 2099, 2101),
            (25, 2025, 2025),
        ] {
            let now = UnixMillis::new((days_before(now) + 100) * 86_400_000);
            assert_eq!(nearest_year(digits, now), year, "{digits}");
        }
    }

    #[test]
    fn the_first_and_last_day_of_each_year_are_in_that_year() {
        for year in 1970..2370 {
            for (day, expected) in [(days_before(year), year), (days_before(year + 1) - 1, year)] {
                let noon = UnixMillis::new(day * 86_400_000 + 43_200_000);
                assert_eq!(year_of(noon), expected, "{day}");
            }
        }
    }

    #[test]
    fn a_clock_at_its_maximum_causes_no_overflow() {
        let end = UnixMillis::new(u64::MAX);
        for day in LONG_DAYS {
            // A year that is too large for a point in time.
            let value = format!("{day}, 06-Nov-60 08:49:37 GMT");
            assert_eq!(parse_http_date(&value, end), None);
        }
    }

    #[test]
    fn each_date_of_eight_centuries_is_one_day_after_the_last() {
        let mut expected = 0;
        for year in 1970..2770 {
            for month in 0..12 {
                for day in 1..=days_in(year, month) {
                    let found = point(year, month, day, (expected + 4) % 7, 0);
                    assert_eq!(found, Some(UnixMillis::new(expected * 86_400_000)));
                    expected += 1;
                }
            }
        }
        assert_eq!(expected, 2 * 146_097);
    }
}
