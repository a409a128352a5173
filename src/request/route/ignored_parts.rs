//! Parts of a path that some frameworks ignore: the name of a front controller script, a format such as
//! `.json`, white space around a step, and dots at its end.

/// Extensions of scripts. A server runs the script and passes it the rest of the path.
const SCRIPTS: [&str; 12] =
    ["php", "php3", "php5", "phtml", "cgi", "fcgi", "pl", "py", "rb", "asp", "aspx", "jsp"];

/// Returns the ways in which a framework may read these steps, the most lenient first. The steps must be
/// in lower case.
pub(super) fn readings<'a>(steps: &[&'a str]) -> [Vec<&'a str>; 4] {
    let trimmed: Vec<&str> =
        steps.iter().map(|step| trimmed(step)).filter(|step| !step.is_empty()).collect();
    let last = trimmed.len().saturating_sub(1);
    let is_script = |at: usize, step: &str| match step.rsplit_once('.') {
        Some((name, extension)) if SCRIPTS.contains(&extension) => {
            at < last || matches!(name, "index" | "default")
        }
        _ => false,
    };
    let scripts: Vec<usize> = (0..trimmed.len()).filter(|&at| is_script(at, trimmed[at])).collect();
    let without_scripts = trimmed.iter().enumerate().filter(|(at, _)| !scripts.contains(at));
    let without_scripts = without_scripts.map(|(_, step)| *step).collect();
    // The steps before a script are the folder that contains it.
    let behind = scripts.iter().rev().find(|&&at| at < last).map_or(0, |at| at + 1);
    let behind_script = trimmed[behind..].to_vec();
    [formatless(without_scripts), formatless(behind_script), formatless(trimmed), steps.to_vec()]
}

/// Removes a format that some frameworks accept at the end of a step: `orders.json` becomes `orders`.
pub(super) fn without_format(step: &str) -> &str {
    match step.rsplit_once('.') {
        Some((name, format)) if !name.is_empty() && is_format(format) => name,
        _ => step,
    }
}

fn formatless(mut steps: Vec<&str>) -> Vec<&str> {
    if let Some(last) = steps.last_mut() {
        *last = without_format(last);
    }
    steps
}

fn is_format(text: &str) -> bool {
    (1..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn trimmed(step: &str) -> &str {
    let is_ignored = |c: char| c.is_whitespace() || c.is_control();
    step.trim_start_matches(is_ignored).trim_end_matches(|c| c == '.' || is_ignored(c))
}
