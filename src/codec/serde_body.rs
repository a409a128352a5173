//! The body of a response as serde sees it: a text in Base64, or nothing.

use super::base64;
use minicbor::bytes::ByteVec;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<S: Serializer>(
    body: &Option<ByteVec>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    body.as_ref().map(|body| base64::encode(body)).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ByteVec>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let body = base64::decode(&text).ok_or(D::Error::custom("a body must be text in Base64"))?;
    Ok(Some(body.into()))
}
