//! Reads a request: fields in a fixed order, each with its length before it.
//!
//! The length is a 32-bit number with its low byte first; all ones mean that the field is undefined.
//! Numbers are decimal text, flags are `1` or empty, and a list has its length as a field before it.
//! A request comes from the package itself (`www/src/client/packed.ts`), so a field that is missing
//! reads as undefined, and a number that is none as 0.

use oncekey::codec::text::decimal;
use oncekey::time::{Millis, UnixMillis};

pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(request: &'a [u8]) -> Self {
        Self { rest: request }
    }

    pub(crate) fn optional_bytes(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        let (field, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.rest = rest;
        Some(field)
    }

    pub(crate) fn bytes(&mut self) -> &'a [u8] {
        self.optional_bytes().unwrap_or_default()
    }

    pub(crate) fn optional(&mut self) -> Option<&'a str> {
        self.optional_bytes().and_then(|bytes| str::from_utf8(bytes).ok())
    }

    pub(crate) fn text(&mut self) -> &'a str {
        self.optional().unwrap_or_default()
    }

    pub(crate) fn optional_number(&mut self) -> Option<u64> {
        self.optional().map(|text| decimal(text).unwrap_or_default())
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.optional_number().unwrap_or_default()
    }

    pub(crate) fn flag(&mut self) -> bool {
        !self.bytes().is_empty()
    }

    pub(crate) fn millis(&mut self) -> Millis {
        Millis::new(self.number())
    }

    pub(crate) fn time(&mut self) -> UnixMillis {
        UnixMillis::new(self.number())
    }

    /// Returns 16 random bytes.
    pub(crate) fn random(&mut self) -> [u8; 16] {
        self.bytes().try_into().unwrap_or_default()
    }

    /// Returns the texts of a list.
    pub(crate) fn list(&mut self) -> Vec<&'a str> {
        (0..self.number()).map(|_| self.text()).collect()
    }
}
