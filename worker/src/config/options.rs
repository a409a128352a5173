//! The options of oncekey inside a Worker: settings with names in camelCase, which JavaScript passes as text
//! (`worker/index.mjs`). They take precedence over vars, and are checked by the same code.

use super::names::{NAMES, meant};
use oncekey::codec::list::entries;

/// Options that are no settings: a setting for every route of the handler.
const REQUIRED: &str = "REQUIRED";
const IGNORE: &str = "IGNORE";

/// Settings that cannot be options: secrets, what the objects read too, and what is about another origin.
const ONLY_VARS: [&str; 9] = [
    "ADMIN_TOKEN",
    "FINGERPRINT_SECRET",
    "JOURNAL_RETENTION_SECONDS",
    "SANDBOX",
    "SCOPE_ALIASES",
    "UPSTREAM",
    "WEBHOOK_SECRETS",
    "WEBHOOK_TARGETS",
    "CONNECT_FAILURE",
];

/// The option `scope`, if it is a function.
const FUNCTION: &str = "function";

/// Options.
#[derive(Default)]
pub(super) struct Options(Vec<Given>);

/// An option that was given.
struct Given {
    /// Its name, as in the program.
    name: String,
    /// The setting that it stands for, and the setting's value.
    setting: String,
    value: String,
}

impl Options {
    /// Reads names and values with a NUL between them.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split('\0');
        let mut options = Vec::new();
        while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
            options.extend(Given::read(name, value)?);
        }
        Ok(Self(options))
    }

    /// Returns the value of a setting, if an option sets it.
    pub(super) fn get(&self, setting: &str) -> Option<String> {
        let values = self.0.iter().filter(|given| given.setting == setting);
        let values: Vec<&str> = values.map(|given| &*given.value).collect();
        (!values.is_empty()).then(|| values.join(","))
    }

    /// Returns whether a function of the Worker names the caller.
    pub(super) fn has_scope_function(&self) -> bool {
        self.0.iter().any(|given| given.setting == "SCOPE" && given.value == FUNCTION)
    }

    /// Returns an error that begins with the name of a setting as one that begins with the name of the option.
    pub(super) fn name_in(&self, error: String) -> String {
        let given = error.split_once(": ").and_then(|(setting, rest)| {
            Some((self.0.iter().find(|given| given.setting == setting)?, rest))
        });
        given.map_or(error.clone(), |(given, rest)| format!("{}: {rest}", given.name))
    }
}

impl Given {
    /// Returns `None` for an option that says the default.
    fn read(name: &str, value: &str) -> Result<Option<Self>, String> {
        let setting = capitals(name);
        if camel_case(&setting) != name {
            return Err(unknown(name, &setting));
        }
        let (setting, value) = match setting.as_str() {
            REQUIRED if value == "true" => ("KEY_REQUIRED", every_route("")),
            REQUIRED if value == "false" => return Ok(None),
            REQUIRED => return Err(format!("{name}: must be true or false")),
            IGNORE => ("FINGERPRINT_IGNORE", ignored(value)),
            only if ONLY_VARS.contains(&only) => {
                return Err(format!("{name}: cannot be an option; set the var {only}"));
            }
            known if NAMES.contains(&known) => (known, value.to_owned()),
            _ => return Err(unknown(name, &setting)),
        };
        Ok(Some(Self { name: name.to_owned(), setting: setting.to_owned(), value }))
    }
}

fn unknown(name: &str, setting: &str) -> String {
    let nearest = meant(setting, &[IGNORE, REQUIRED]).map(|(nearest, _)| camel_case(nearest));
    let question = nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default();
    format!("{name} is not the name of an option{question}")
}

/// Returns an entry for every route: a `*` at the end of a route stands for one segment or more, and the root has none.
fn every_route(rest: &str) -> String {
    format!("*:/*{rest},*:/{rest}")
}

fn ignored(pointers: &str) -> String {
    let routes: Vec<_> =
        entries(pointers).map(|pointer| every_route(&format!(":{pointer}"))).collect();
    routes.join(",")
}

/// Returns the name of the setting: `retentionSeconds` is `RETENTION_SECONDS`.
fn capitals(name: &str) -> String {
    if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return name.to_owned();
    }
    let mut capitals = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            capitals.push('_');
        }
        capitals.push(letter.to_ascii_uppercase());
    }
    capitals
}

/// Returns the name of the option: `RETENTION_SECONDS` is `retentionSeconds`.
fn camel_case(setting: &str) -> String {
    let mut words = setting.split('_');
    let mut name = words.next().unwrap_or_default().to_ascii_lowercase();
    for word in words {
        name.extend(word.get(..1));
        name.push_str(&word.get(1..).unwrap_or_default().to_ascii_lowercase());
    }
    name
}
