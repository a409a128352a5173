//! Multipart bodies: the boundary does not count, and the content does. The first line of an input is
//! the `Content-Type`.

use super::change::change_form;
use super::form::{self, spell};
use super::input::{choices, line};
use oncekey::canonical::multipart::canonicalize;

pub(crate) fn check(bytes: &[u8]) {
    let Some((content_type, body)) = line(bytes) else {
        return;
    };
    let read = read(content_type, body);
    let canonical = canonicalize(content_type, body);
    assert_eq!(canonical, read.as_ref().map(form::write), "{content_type:?}");
    let Some(read) = read else {
        return;
    };

    let mut choices = choices(bytes);
    let mut changed = read.clone();
    change_form(&mut changed, &mut choices);
    for (parts, is_same) in [(&read, true), (&changed, changed == read)] {
        let (content_type, spelling) = spell(parts, &mut choices);
        let boundary = boundary(&content_type).expect("a boundary");
        let delimiter = format!("--{boundary}").into_bytes();
        // This check is left out if the content happens to contain the new delimiter.
        if !body.windows(delimiter.len()).any(|window| window == delimiter) {
            let spelt = canonicalize(&content_type, &spelling);
            assert_eq!(spelt == canonical, is_same, "{content_type} {parts:?}");
        }
    }
}

/// Returns the content of a body, if it has a canonical form.
pub(super) fn read(content_type: &str, body: &[u8]) -> Option<form::Form> {
    let essence = content_type.split(';').next()?.trim_matches([' ', '\t']).to_lowercase();
    let (kind, subtype) = essence.split_once('/')?;
    if kind != "multipart" || !is_token(subtype) {
        return None;
    }
    form::read(&boundary(content_type)?, body)
}

/// Reads the boundary of a `Content-Type` letter by letter.
fn boundary(content_type: &str) -> Option<String> {
    let mut letters = content_type.chars().skip_while(|letter| *letter != ';').peekable();
    let mut found = Vec::new();
    loop {
        while letters.next_if(|letter| " \t;".contains(*letter)).is_some() {}
        if letters.peek().is_none() {
            break;
        }
        let mut name = String::new();
        loop {
            match letters.next()? {
                '=' => break,
                letter => name.push(letter),
            }
        }
        if !is_token(&name) {
            return None;
        }
        let mut value = String::new();
        if letters.next_if_eq(&'"').is_some() {
            loop {
                match letters.next()? {
                    '"' => break,
                    '\\' => value.extend(['\\', letters.next()?]),
                    letter => value.push(letter),
                }
            }
            while letters.next_if(|letter| " \t".contains(*letter)).is_some() {}
            if letters.peek().is_some_and(|letter| *letter != ';') {
                return None;
            }
        } else {
            while let Some(letter) = letters.next_if(|letter| *letter != ';') {
                value.push(letter);
            }
            value = value.trim_matches([' ', '\t']).to_owned();
        }
        if name.to_lowercase() == "boundary" {
            found.push(value);
        }
    }
    let [boundary] = &found[..] else {
        return None;
    };
    let is_allowed =
        |letter: char| letter.is_ascii_alphanumeric() || "'()+_,-./:=? ".contains(letter);
    let fits = (1..=70).contains(&boundary.len())
        && boundary.chars().all(is_allowed)
        && !boundary.ends_with(' ');
    fits.then(|| boundary.clone())
}

fn is_token(text: &str) -> bool {
    let is_allowed =
        |letter: char| letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter);
    !text.is_empty() && text.chars().all(is_allowed)
}
