//! Reading one var: a number, a choice, a list, or a text with a syntax of its own.

use oncekey::Millis;
use oncekey::codec::list::entries;
use oncekey::request::route::RouteRules;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Reads vars. An error names the var and says what to set. It never contains the value, which may be a
/// secret in the wrong place.
pub(super) struct Vars<'a>(pub(super) &'a dyn Fn(&str) -> Option<String>);

impl Vars<'_> {
    pub(super) fn parse<T, E: Display>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, String> {
        let parsed = self.text(name).map(|text| parse(&text)).transpose();
        parsed.map_err(|error| format!("{name}: {error}"))
    }

    /// Reads a list. Returns `default` if the var is missing, and an empty list if it is `none`.
    pub(super) fn unless_none<T: Default, E: Display>(
        &self,
        name: &str,
        default: Option<&str>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, String> {
        let text = self.text(name).or(default.map(str::to_owned)).filter(|text| text != "none");
        let parsed = text.map(|text| parse(&text)).transpose();
        parsed.map(Option::unwrap_or_default).map_err(|error| format!("{name}: {error}"))
    }

    pub(super) fn list<T, E: Display>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Vec<T>, String> {
        let list = self.parse(name, |text| entries(text).map(&parse).collect())?;
        Ok(list.unwrap_or_default())
    }

    pub(super) fn choice<T: Copy>(
        &self,
        name: &str,
        default: T,
        choices: &[(&str, T)],
    ) -> Result<T, String> {
        let choice = self.parse(name, |text| {
            let found = choices.iter().find(|(choice, _)| *choice == text);
            found.map(|(_, value)| *value).ok_or_else(|| {
                let names: Vec<_> = choices.iter().map(|(choice, _)| *choice).collect();
                format!("must be {}", names.join(" or "))
            })
        })?;
        Ok(choice.unwrap_or(default))
    }

    pub(super) fn number(
        &self,
        name: &str,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> Result<u64, String> {
        Ok(self.parse(name, |text| whole_number(text, &range))?.unwrap_or(default))
    }

    pub(super) fn seconds(
        &self,
        name: &str,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> Result<Millis, String> {
        self.number(name, default, range).map(Millis::from_seconds)
    }

    /// Reads a number of seconds for all routes, and numbers for single routes.
    pub(super) fn seconds_by_route(
        &self,
        name: &str,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> Result<(Millis, RouteRules<Millis>), String> {
        let rules = self.parse(name, |text| {
            RouteRules::parse_optional(text, |text| {
                whole_number(text, &range).map(Millis::from_seconds)
            })
        })?;
        let rules = rules.unwrap_or_default();
        let for_all = rules.iter().filter(|(route, _)| route.is_none());
        let for_all: Vec<Millis> = for_all.map(|(_, number)| *number).collect();
        match for_all[..] {
            [] => Ok((Millis::from_seconds(default), rules)),
            [number] => Ok((number, rules)),
            _ => Err(format!("{name}: only one number may have no route")),
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.0(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }
}

fn whole_number(text: &str, range: &RangeInclusive<u64>) -> Result<u64, String> {
    // `parse` alone would take "+5".
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| digits && range.contains(number));
    number
        .ok_or_else(|| format!("must be a whole number from {} to {}", range.start(), range.end()))
}
