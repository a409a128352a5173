//! The message from the Worker to a merchant's object: one request to this API, whose head was checked.

use crate::body_type::BodyType;
use minicbor::{Decode, Encode};

/// Changes when old code would misread a new [`Command`]. Old and new code run at once while a
/// version is rolled out; an object that does not know the form says so with 503.
const FORM: u32 = 3;

/// One request. The merchant's credential is not part of it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(super) struct Command {
    #[n(0)]
    form: u32,
    #[n(1)]
    pub(super) request_id: String,
    #[n(2)]
    pub(super) idempotency_key: Option<String>,
    #[n(3)]
    pub(super) method: String,
    #[n(4)]
    pub(super) path: String,
    #[n(5)]
    pub(super) query: String,
    /// The body of the request, if the operation takes one.
    #[n(6)]
    pub(super) body: Option<Body>,
}

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(super) struct Body {
    #[n(0)]
    pub(super) kind: BodyType,
    #[cbor(n(1), with = "minicbor::bytes")]
    pub(super) bytes: Vec<u8>,
}

impl Command {
    pub(super) fn new(request_id: &str, method: &str, path: &str, query: &str) -> Self {
        Self {
            form: FORM,
            request_id: request_id.to_owned(),
            idempotency_key: None,
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            body: None,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        // Writing to a vector cannot fail.
        minicbor::to_vec(self).unwrap_or_default()
    }

    /// Returns `None` for bytes of another form.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        minicbor::decode(bytes).ok().filter(|command: &Self| command.form == FORM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Command {
        let body = Body { kind: BodyType::Form, bytes: b"subject=Pro+\xff".to_vec() };
        Command {
            idempotency_key: Some(String::new()),
            body: Some(body),
            ..Command::new("req_1", "POST", "/v1/orders", "out_trade_no=訂閲")
        }
    }

    #[test]
    fn a_command_goes_there_and_back() {
        for command in [command(), Command { idempotency_key: None, body: None, ..command() }] {
            assert_eq!(Command::decode(&command.encode()), Some(command));
        }
    }

    #[test]
    fn what_is_no_command_is_nothing() {
        let bytes = command().encode();
        for end in 0..bytes.len() {
            assert!(Command::decode(&bytes[..end]).is_none());
        }
        for place in 0..bytes.len() {
            for byte in 0..=255 {
                let mut other = bytes.clone();
                other[place] = byte;
                let _ = Command::decode(&other);
            }
        }
        assert!(Command::decode(&Command { form: FORM + 1, ..command() }.encode()).is_none());
        assert!(Command::decode(&[0x7b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).is_none());
    }
}
