//! `Retry-After` and `Idempotency-Expires`. The lines of an input are the value, the response's `Date`,
//! and the local clock in milliseconds.

use super::input::line;
use oncekey::client::retry::{expires_at, parse_http_date, retry_after};
use oncekey::{Millis, UnixMillis};

const MAX: Millis = Millis::new(60_000);
const NOW: u64 = 1_764_000_000_000;

pub(crate) fn check(bytes: &[u8]) {
    let Some((value, rest)) = line(bytes) else { return };
    let Some((date, rest)) = line(rest) else { return };
    let Some((now, _)) = line(rest) else { return };
    let now = now.parse().unwrap_or(NOW);
    let date = (!date.is_empty()).then_some(date);

    let point = read_date(value, now);
    let found = parse_http_date(value, UnixMillis::new(now)).map(UnixMillis::as_u64);
    assert_eq!(found, point, "{value:?} at {now}");

    let present = date.and_then(|date| read_date(date, now)).unwrap_or(now);
    let ahead = point.filter(|point| *point > present).map(|point| point - present);
    let is_number = !value.is_empty() && value.chars().all(|digit| digit.is_ascii_digit());
    // Seconds with more digits are beyond any limit.
    let significant = value.trim_start_matches('0');
    let seconds = match significant.len() {
        0 => 0,
        1..=15 if is_number => significant.parse::<u64>().expect("digits"),
        _ => u64::MAX / 1000,
    };
    let wait = if is_number { Some(seconds * 1000) } else { ahead };
    let now = UnixMillis::new(now);
    let found = retry_after(value, date, now, MAX);
    assert_eq!(found, wait.map(|wait| Millis::new(wait).min(MAX)), "{value:?} {date:?}");
    let found = expires_at(value, date, now);
    assert_eq!(found, ahead.map(|ahead| now.plus(Millis::new(ahead))), "{value:?} {date:?}");
}

const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns milliseconds since 1970: collects the parts of a date, and accepts the point in time that they name if
/// it would be written in the same way.
fn read_date(value: &str, now: u64) -> Option<u64> {
    let numbers: Vec<u64> = value
        .split(|letter: char| !letter.is_ascii_digit())
        .filter(|digits| (1..=4).contains(&digits.len()))
        .map(|digits| digits.parse().expect("digits"))
        .collect();
    let [a, b, c, d, e] = numbers[..] else { return None };
    let month = MONTHS.iter().position(|month| value.contains(month))? as u64 + 1;
    let this_year = year_and_day(now / 86_400_000).0;
    // The day, the year and the time, in the order of the three forms.
    let with_time = [(a, b, [c, d, e]), (a, e, [b, c, d])];
    let candidates = with_time.into_iter().flat_map(|(day, year, time)| {
        let century = this_year / 100 * 100;
        [
            Some(year),
            (century + year).checked_sub(100),
            Some(century + year),
            Some(century + year + 100),
        ]
        .map(|year| (day, year, time))
    });
    candidates
        .filter_map(|(day, year, time)| point(year?, month, day, time, this_year, value))
        .next()
}

fn point(
    year: u64,
    month: u64,
    day: u64,
    [hour, minute, second]: [u64; 3],
    this_year: u64,
    value: &str,
) -> Option<u64> {
    if year < 1970 || !(1..=31).contains(&day) {
        return None;
    }
    let days =
        days_until(year) + (1..month).map(|month| length(year, month)).sum::<u64>() + day - 1;
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    if hour > 23 || minute > 59 || second > 60 || day > length(year, month) {
        return None;
    }
    let weekday = DAYS[((days + 4) % 7) as usize];
    let (short, name) = (&weekday[..3], MONTHS[month as usize - 1]);
    let is_near = (this_year + 50).checked_sub(year).is_some_and(|behind| behind < 100);
    let is_written_so = value == format!("{short}, {day:02} {name} {year} {time} GMT")
        || value == format!("{short} {name} {day:2} {time} {year}")
        || value == format!("{short} {name} {day:02} {time} {year}")
        || (is_near && value == format!("{weekday}, {day:02}-{name}-{:02} {time} GMT", year % 100));
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    seconds.checked_mul(1000).filter(|_| is_written_so)
}

fn days_until(year: u64) -> u64 {
    // Every 400 years have the same number of days.
    let (cycles, rest) = ((year - 1970) / 400, (year - 1970) % 400);
    let days_of = |year| (1..=12).map(|month| length(year, month)).sum::<u64>();
    cycles * 146_097 + (1970..1970 + rest).map(days_of).sum::<u64>()
}

/// Returns the year of a day, and the number of the day in that year.
fn year_and_day(mut day: u64) -> (u64, u64) {
    let mut year = 1970 + day / 146_097 * 400;
    day %= 146_097;
    loop {
        let days: u64 = (1..=12).map(|month| length(year, month)).sum();
        if day < days {
            return (year, day);
        }
        (year, day) = (year + 1, day - days);
    }
}

fn length(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: u64) -> bool {
    let of = |years: u64| year.is_multiple_of(years);
    (of(4) && !of(100)) || of(400)
}
