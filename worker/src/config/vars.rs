//! Reading one var: a number, a choice, a list, or a text with a syntax of its own.

use oncekey::Millis;
use oncekey::codec::list::entries;
use oncekey::request::route::RouteRules;
use std::cell::RefCell;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Reads vars. An error names the var and says what to set. It never contains the value, which may be a
/// secret in the wrong place.
///
/// The first error is kept, and a var that is wrong counts as left out. So reading a var has one way out, which makes
/// the wasm much smaller than a result for each var does.
pub(super) struct Vars<'a> {
    read: &'a dyn Fn(&str) -> Option<String>,
    error: RefCell<Option<String>>,
}

impl<'a> Vars<'a> {
    pub(super) fn new(read: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { read, error: RefCell::default() }
    }

    /// Returns the first error.
    pub(super) fn error(self) -> Option<String> {
        self.error.into_inner()
    }

    /// Notes an error.
    pub(super) fn refuse(&self, error: String) {
        self.error.borrow_mut().get_or_insert(error);
    }

    /// Notes the error of a check of several vars.
    pub(super) fn checked<T: Default>(&self, result: Result<T, String>) -> T {
        result.map_err(|error| self.refuse(error)).unwrap_or_default()
    }

    fn refuse_var(&self, name: &str, error: &dyn Display) {
        self.refuse(format!("{name}: {error}"));
    }

    pub(super) fn parse<T, E: Display>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        self.read_text(name, self.text(name), parse)
    }

    /// Reads a list. Returns `default` if the var is missing, and an empty list if it is `none`.
    pub(super) fn unless_none<T: Default, E: Display>(
        &self,
        name: &str,
        default: Option<&str>,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> T {
        let text = self.text(name).or(default.map(str::to_owned)).filter(|text| text != "none");
        self.read_text(name, text, parse).unwrap_or_default()
    }

    fn read_text<T, E: Display>(
        &self,
        name: &str,
        text: Option<String>,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        parse(&text?).map_err(|error| self.refuse_var(name, &error)).ok()
    }

    pub(super) fn list<T, E: Display>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Vec<T> {
        self.parse(name, |text| entries(text).map(&parse).collect()).unwrap_or_default()
    }

    pub(super) fn choice<T: Copy>(&self, name: &str, default: T, choices: &[(&str, T)]) -> T {
        let names: Vec<_> = choices.iter().map(|(choice, _)| *choice).collect();
        self.choose(name, &names).map_or(default, |place| choices[place].1)
    }

    /// Returns the place of the var's value in a list.
    fn choose(&self, name: &str, choices: &[&str]) -> Option<usize> {
        self.parse(name, |text| {
            let found = choices.iter().position(|choice| *choice == text);
            found.ok_or_else(|| format!("must be {}", choices.join(" or ")))
        })
    }

    pub(super) fn number(&self, name: &str, default: u64, range: RangeInclusive<u64>) -> u64 {
        self.parse(name, |text| whole_number(text, &range)).unwrap_or(default)
    }

    pub(super) fn seconds(&self, name: &str, default: u64, range: RangeInclusive<u64>) -> Millis {
        Millis::from_seconds(self.number(name, default, range))
    }

    /// Reads a number of seconds for all routes, and numbers for single routes.
    pub(super) fn seconds_by_route(
        &self,
        name: &str,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> (Millis, RouteRules<Millis>) {
        let rules = self.parse(name, |text| {
            RouteRules::parse_optional(text, |text| {
                whole_number(text, &range).map(Millis::from_seconds)
            })
        });
        let rules = rules.unwrap_or_default();
        let for_all = rules.iter().filter(|(route, _)| route.is_none());
        let for_all: Vec<Millis> = for_all.map(|(_, number)| *number).collect();
        if for_all.len() > 1 {
            self.refuse_var(name, &"only one number may have no route");
        }
        (for_all.first().copied().unwrap_or(Millis::from_seconds(default)), rules)
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        (self.read)(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }
}

fn whole_number(text: &str, range: &RangeInclusive<u64>) -> Result<u64, String> {
    // `parse` alone would take "+5".
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| digits && range.contains(number));
    number
        .ok_or_else(|| format!("must be a whole number from {} to {}", range.start(), range.end()))
}
