//! Reads a business key from a form: from the field that corresponds to the member of a JSON body.
//!
//! The pointer `/out_trade_no` names the field `out_trade_no`. The pointer `/buyer/no` names the field
//! `buyer[no]`, as PHP, Rails and Express write it. Form parsers accept other spellings of a name: PHP
//! turns `out.trade.no` into `out_trade_no`, ASP.NET ignores case, and Rack splits pairs at a `;`. A
//! body with another spelling that some parser may take for the field is therefore refused.

use crate::canonical::disposition::{PartName, halves, part_name};
use crate::canonical::fields::decoded;
use crate::canonical::multipart::{MultipartBody, Part};
use crate::canonical::work::spent;
use crate::canonical::{MediaType, folded_letters};
use crate::codec::percent::has_broken_escape;

/// The name of a field that two programs may read differently in a body.
pub(super) struct UnclearField(pub(super) String);

/// Returns the value of a field in a body whose type is not JSON; `None` if the body has no such field.
///
/// # Errors
///
/// Returns an error if two programs may read the field differently.
pub(super) fn read(
    steps: &[String],
    media_type: &MediaType<'_>,
    body: &[u8],
) -> Result<Option<String>, UnclearField> {
    let field = FormField::new(steps);
    let found = match media_type.essence() {
        "application/x-www-form-urlencoded" if is_text(body) => field.in_pairs(body),
        "application/x-www-form-urlencoded" => Err(Unclear),
        // Rack reads a body without a type as a form.
        "" if field.in_pairs(body) == Ok(None) => Ok(None),
        "multipart/form-data" => field.in_parts(media_type, body),
        // Rack reads some other multipart types as forms.
        _ if media_type.is_multipart() && field.in_parts(media_type, body) == Ok(None) => Ok(None),
        _ if media_type.essence().is_empty() || media_type.is_multipart() => Err(Unclear),
        _ => Ok(None),
    };
    found.map_err(|Unclear| UnclearField(field.name.clone()))
}

/// Two programs may read the field differently.
#[derive(Debug, PartialEq, Eq)]
struct Unclear;

/// The field of a form that a pointer names.
struct FormField {
    name: String,
    /// The letters and digits of the name, and of the name without the indexes of a list, which PHP
    /// and Rails also write as `[]`.
    letters: Vec<char>,
    letters_in_list: Vec<char>,
}

/// What a form parser may take a name for.
#[derive(PartialEq, Eq)]
enum NameMatch {
    Field,
    Lookalike,
    Other,
}

impl FormField {
    fn new(steps: &[String]) -> Self {
        let mut name = String::new();
        for (at, step) in steps.iter().enumerate() {
            if at == 0 {
                name.push_str(step);
            } else {
                name.extend(["[", step, "]"]);
            }
        }
        let is_index = |step: &String| step.bytes().all(|byte| byte.is_ascii_digit());
        let letters = letters(steps.concat().chars()).collect();
        let named: String = steps.iter().filter(|step| !is_index(step)).cloned().collect();
        Self { name, letters, letters_in_list: letters_of(&named) }
    }

    fn in_pairs(&self, body: &[u8]) -> Result<Option<String>, Unclear> {
        spent(body.len());
        let mut found = None;
        for pair in body.split(|&byte| byte == b'&') {
            for piece in pair.split(|&byte| byte == b';') {
                let (name, value) = halves(piece, b'=');
                let decoded_name: Vec<u8> = decoded(name).collect();
                match self.naming(&decoded_name) {
                    // ASP.NET reads escapes that the URL standard does not know: `%u006f` is `o`.
                    NameMatch::Other if has_broken_escape(name) => return Err(Unclear),
                    NameMatch::Other => {}
                    NameMatch::Lookalike => return Err(Unclear),
                    NameMatch::Field if piece.len() != pair.len() || has_broken_escape(piece) => {
                        return Err(Unclear);
                    }
                    NameMatch::Field => keep(&mut found, decoded(value).collect())?,
                }
            }
        }
        Ok(found)
    }

    fn in_parts(&self, media_type: &MediaType<'_>, body: &[u8]) -> Result<Option<String>, Unclear> {
        if body.is_empty() {
            return Ok(None);
        }
        let message = MultipartBody::parse(media_type, body).ok_or(Unclear)?;
        let mut found = None;
        for (_, part) in message.parts() {
            let naming = |name| self.naming(&decoded(name).collect::<Vec<_>>());
            match part_name(&part) {
                Some(PartName::Field(name)) => match naming(name) {
                    NameMatch::Other => {}
                    NameMatch::Field if is_plain(&part) => {
                        keep(&mut found, part.content().to_vec())?
                    }
                    NameMatch::Field | NameMatch::Lookalike => return Err(Unclear),
                },
                Some(PartName::File(name)) if naming(name) == NameMatch::Other => {}
                Some(PartName::File(_)) => return Err(Unclear),
                None if part.values("content-disposition").any(|value| self.may_be_in(value)) => {
                    return Err(Unclear);
                }
                None => {}
            }
        }
        Ok(found)
    }

    fn naming(&self, name: &[u8]) -> NameMatch {
        if name == self.name.as_bytes() {
            return NameMatch::Field;
        }
        // Programs in C end a name at its first NUL.
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name);
        // Some parsers read `out_trade_no[]` and `out_trade_no.x` as the field too.
        let is_like = [&self.letters, &self.letters_in_list].into_iter().any(|wanted| {
            let mut wanted = Matching::new(wanted);
            name.chars().any(|letter| {
                let ends = matches!(letter, '[' | '.') && wanted.is_met();
                letters([letter].into_iter()).for_each(|letter| wanted.next(letter));
                ends
            }) || wanted.is_met()
        });
        if is_like { NameMatch::Lookalike } else { NameMatch::Other }
    }

    /// Returns whether a parser may find the name of the field in a text.
    fn may_be_in(&self, text: &[u8]) -> bool {
        let plain: Vec<u8> = decoded(text).collect();
        let text = letters_of(&String::from_utf8_lossy(&plain));
        spent(text.len());
        let wanted = &self.letters_in_list;
        wanted.is_empty() || text.windows(wanted.len()).any(|window| window == wanted)
    }
}

/// Compares a sequence of letters with the wanted letters, one at a time.
struct Matching<'a> {
    wanted: &'a [char],
    at: usize,
    differs: bool,
}

impl<'a> Matching<'a> {
    fn new(wanted: &'a [char]) -> Self {
        Self { wanted, at: 0, differs: wanted.is_empty() }
    }

    fn next(&mut self, letter: char) {
        self.differs |= self.wanted.get(self.at) != Some(&letter);
        self.at += 1;
    }

    fn is_met(&self) -> bool {
        !self.differs && self.at == self.wanted.len()
    }
}

fn keep(found: &mut Option<String>, value: Vec<u8>) -> Result<(), Unclear> {
    let value = String::from_utf8(value).map_err(|_| Unclear)?;
    if found.replace(value).is_some() { Err(Unclear) } else { Ok(()) }
}

/// Returns whether every parser reads a part's content as text in UTF-8.
fn is_plain(part: &Part<'_>) -> bool {
    let text = |value| core::str::from_utf8(value).unwrap_or("?");
    let is_coded = part.values("content-transfer-encoding").any(|coding| {
        let known: [&[u8]; 3] = [b"7bit", b"8bit", b"binary"];
        !known.iter().any(|known| coding.eq_ignore_ascii_case(known))
    });
    let mut types = part.values("content-type").map(|value| MediaType::parse(Some(text(value))));
    !is_coded && types.all(|kind| kind.essence() == "text/plain" && kind.is_utf8())
}

/// Returns whether a body is plain text, as a form in pairs must be: neither compressed nor in UTF-16.
fn is_text(body: &[u8]) -> bool {
    spent(body.len());
    !body.iter().any(u8::is_ascii_control) && core::str::from_utf8(body).is_ok()
}

fn letters_of(text: &str) -> Vec<char> {
    letters(text.chars()).collect()
}

fn letters(text: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    folded_letters(text.filter(|letter| letter.is_alphanumeric()))
}
