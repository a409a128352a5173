//! One call to an operation, inside the merchant's object: the request, and the fields that the
//! operation reads from it.

use crate::body_type::BodyType;
use crate::command::Command;
use crate::error::Refusal;
use crate::fields::Fields;
use crate::input::{IdempotencyKey, is_id_part, percent_decoded};
use crate::pages::Listed;
use crate::reply::Reply;
use oncekey::UnixMillis;
use oncekey::webhook::target::Reach;

pub(super) struct Call<'a> {
    pub(super) command: &'a Command,
    /// The segment of the path that the operation's pattern leaves open.
    pub(super) named: &'a str,
    pub(super) now: UnixMillis,
    /// To which targets webhooks may be sent.
    pub(super) reach: Reach,
}

impl<'a> Call<'a> {
    pub(super) fn idempotency_key(&self) -> Option<&'a str> {
        self.command.idempotency_key.as_deref()
    }

    /// Returns the bytes of the body, for an operation that parses them itself.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.command.body.as_ref().map_or(&[], |body| &body.bytes)
    }

    pub(super) fn body_type(&self) -> BodyType {
        self.command.body.as_ref().map_or(BodyType::Json, |body| body.kind)
    }

    /// Reads a body with members or fields of these names.
    pub(super) fn body(&self, known: &[&str]) -> Result<Fields, Box<Refusal>> {
        Fields::of_body(self.body_type(), self.bytes(), known)
    }

    /// Reads a query with parameters of these names.
    pub(super) fn query(&self, known: &[&str]) -> Result<Fields, Box<Refusal>> {
        Fields::of_query(&self.command.query, known)
    }

    /// Returns the id in the path, which must begin with `prefix`.
    pub(super) fn id(&self, prefix: &str) -> Result<&'a str, Box<Refusal>> {
        let is_id = self.named.strip_prefix(prefix).is_some_and(is_id_part);
        is_id.then_some(self.named).ok_or_else(Refusal::no_such_object)
    }

    /// Returns the idempotency key in the path. `param` is its name in an error.
    pub(super) fn named_key(&self, param: &str) -> Result<IdempotencyKey, Box<Refusal>> {
        IdempotencyKey::check(percent_decoded(self.named), param)
    }

    /// Responds with an object that was found or changed, in JSON.
    pub(super) fn found(&self, object: &str) -> Reply {
        Reply::data(200, object, &self.command.request_id)
    }

    /// Responds with an object that this call or an earlier one made, in JSON.
    pub(super) fn created(&self, object: &str) -> Reply {
        Reply::data(201, object, &self.command.request_id)
    }

    /// Responds with a page of a list.
    pub(super) fn page(&self, listed: &Listed) -> Reply {
        Reply::list(listed, &self.command.request_id)
    }
}
