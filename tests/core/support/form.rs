//! The content of a multipart body, random spellings of it, and a plain reader.

use super::spelling::Choices;

/// The content of a multipart body. Names of fields are in lower case and sorted; fields with one name keep
/// their order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Form {
    pub(crate) preamble: Vec<u8>,
    pub(crate) parts: Vec<Part>,
    pub(crate) epilogue: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    pub(crate) content: Vec<u8>,
}

/// Returns the content type and the body of a form in a random spelling.
pub(crate) fn spell(form: &Form, choices: &mut Choices) -> (String, Vec<u8>) {
    let long = format!("{}{}", "b".repeat(61), choices.below(1_000_000));
    let boundary = ["----WebKitFormBoundaryx", "=_q/1:2'()+,.?", "two words", "AaB03x", &long]
        [choices.below(5)];
    let boundary = &format!("{boundary}{}", choices.below(1000))[..];
    let content_type = match choices.below(4) {
        0 if !boundary.contains(' ') => format!("multipart/form-data; boundary={boundary}"),
        1 if !boundary.contains(' ') => {
            format!("Multipart/Form-Data;charset=\"a;b\"; BOUNDARY={boundary} ; x=1")
        }
        _ => format!("multipart/form-data;boundary=\"{boundary}\""),
    };
    let mut body = form.preamble.clone();
    let mut starts_line = form.preamble.is_empty() && choices.below(2) == 0;
    let mut delimiter = |body: &mut Vec<u8>, end: &str, choices: &mut Choices| {
        let line_break = if std::mem::take(&mut starts_line) { "" } else { "\r\n" };
        let padding = ["", "", " ", "\t  "][choices.below(4)];
        body.extend_from_slice(format!("{line_break}--{boundary}{end}{padding}").as_bytes());
    };
    for part in &form.parts {
        delimiter(&mut body, "", choices);
        body.extend_from_slice(b"\r\n");
        for (name, value) in mixed(&part.fields, choices) {
            let name: String = name
                .chars()
                .map(
                    |letter| {
                        if choices.below(2) == 0 { letter.to_ascii_uppercase() } else { letter }
                    },
                )
                .collect();
            body.extend_from_slice(
                format!("{name}:{}", ["", " ", "\t "][choices.below(3)]).as_bytes(),
            );
            body.extend_from_slice(value);
            body.extend_from_slice([&b""[..], b" "][choices.below(2)]);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"\r\n");
        body.extend_from_slice(&part.content);
    }
    delimiter(&mut body, "--", choices);
    if !form.epilogue.is_empty() || choices.below(2) == 0 {
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(&form.epilogue);
    (content_type, body)
}

/// Shuffles the fields, but keeps the order of fields with one name.
fn mixed<'f>(fields: &'f [(String, Vec<u8>)], choices: &mut Choices) -> Vec<&'f (String, Vec<u8>)> {
    let mut mixed: Vec<_> = fields.iter().collect();
    choices.shuffle(&mut mixed);
    let mut in_order = fields.iter().collect::<Vec<_>>();
    mixed
        .iter()
        .map(|field| in_order.remove(in_order.iter().position(|other| other.0 == field.0).unwrap()))
        .collect()
}

/// Reads a body with a known boundary line by line. Returns `None` if it has no canonical form.
pub(crate) fn read(boundary: &str, body: &[u8]) -> Option<Form> {
    // The lines without their CRLF. The last line has none.
    let mut lines: Vec<&[u8]> = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at + 1 < body.len() {
        if &body[at..at + 2] == b"\r\n" {
            lines.push(&body[start..at]);
            (start, at) = (at + 2, at + 2);
        } else {
            at += 1;
        }
    }
    lines.push(&body[start..]);

    // The lines between the delimiters, until the closing delimiter.
    let mut sections: Vec<Vec<&[u8]>> = vec![Vec::new()];
    let last = lines.len() - 1;
    for (number, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix(format!("--{boundary}").as_bytes()) else {
            sections.last_mut()?.push(line);
            continue;
        };
        let closing = rest.strip_prefix(b"--");
        if !closing.unwrap_or(rest).iter().all(|byte| b" \t".contains(byte))
            || (closing.is_none() && number == last)
        {
            return None;
        }
        if closing.is_some() {
            let epilogue = lines[number + 1..].join(&b"\r\n"[..]);
            let preamble = sections.remove(0).join(&b"\r\n"[..]);
            let parts = sections.iter().map(|section| read_part(section)).collect::<Option<_>>()?;
            return Some(Form { preamble, parts, epilogue });
        }
        sections.push(Vec::new());
    }
    None
}

fn read_part(lines: &[&[u8]]) -> Option<Part> {
    let blank = lines.iter().position(|line| line.is_empty())?;
    // The content's last line break belongs to the delimiter, so there must be a line after the
    // blank one.
    if blank + 1 == lines.len() || blank > 16 {
        return None;
    }
    let mut fields = Vec::new();
    for line in &lines[..blank] {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let name = std::str::from_utf8(&line[..colon]).ok()?.to_lowercase();
        let value = &line[colon + 1..];
        if name.is_empty()
            || !name
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter))
        {
            return None;
        }
        if value.iter().any(|byte| b"\r\n\0".contains(byte)) {
            return None;
        }
        let spaces = |byte: &u8| *byte == b' ' || *byte == b'\t';
        let trimmed: Vec<u8> = value.iter().copied().skip_while(spaces).collect();
        let kept = trimmed.len() - trimmed.iter().rev().take_while(|byte| spaces(byte)).count();
        fields.push((name, trimmed[..kept].to_vec()));
    }
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    Some(Part { fields, content: lines[blank + 1..].join(&b"\r\n"[..]) })
}

/// Writes the canonical form, as `canonical::multipart` describes it.
pub(crate) fn write(form: &Form) -> Vec<u8> {
    let mut out = Vec::new();
    let sized = |out: &mut Vec<u8>, bytes: &[u8]| {
        out.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        out.extend_from_slice(bytes);
    };
    sized(&mut out, &form.preamble);
    for part in &form.parts {
        out.push(1);
        out.extend_from_slice(&(part.fields.len() as u64).to_be_bytes());
        for (name, value) in &part.fields {
            sized(&mut out, name.as_bytes());
            sized(&mut out, value);
        }
        sized(&mut out, &part.content);
    }
    out.push(0);
    sized(&mut out, &form.epilogue);
    out
}
