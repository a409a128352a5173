//! The bytes of a stored record.

use super::Record;
use crate::codec::cbor::{self, Write};
use core::fmt;
use crc::{CRC_32_ISO_HDLC, Crc, Table};
use std::sync::LazyLock;

/// Why stored bytes cannot be read as a record. None of these errors means that the key is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordError {
    /// The bytes do not start like a record.
    NotARecord,
    /// Another version of this project wrote the record.
    UnknownVersion(u8),
    /// Bytes were changed or lost.
    Damaged,
}

/// The start of every record, before a version byte and the CRC-32 of the rest.
const MAGIC: [u8; 2] = *b"ok";
const HEAD: usize = 7;

/// CRC-32 as in zip and Ethernet. The tables have 16 KiB and do not compress. So they are computed at the
/// first use, which takes microseconds, and are not a part of the Worker.
static CHECKSUM: LazyLock<Crc<u32, Table<16>>> =
    LazyLock::new(|| Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC));

impl Record {
    /// The version of the wire form that [`Record::encode`] writes.
    pub const WIRE_VERSION: u8 = 1;

    /// Returns the bytes to store: `ok`, the version, the CRC-32 (little endian) of what follows, and
    /// the record in CBOR (RFC 8949) with numbered fields, so that a later version can add fields.
    ///
    /// ```
    /// # use oncekey::{Policy, Record, UnixMillis, lifecycle};
    /// let now = UnixMillis::new(1_764_000_000_000);
    /// let voided = lifecycle::void(None, None, &Policy::default(), now);
    /// let record = voided.next.applied_to(None).expect("the key is voided");
    /// assert_eq!(Record::decode(&record.encode()), Ok(record));
    /// ```
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![MAGIC[0], MAGIC[1], Self::WIRE_VERSION, 0, 0, 0, 0];
        self.write(&mut bytes);
        let sum = CHECKSUM.checksum(&bytes[HEAD..]);
        bytes[3..HEAD].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads what [`Record::encode`] wrote. Any other bytes are an error and never count as a missing
    /// record, because the request would be executed again.
    ///
    /// ```
    /// # use oncekey::{Record, RecordError};
    /// // An error means that the key has a record, so nothing may be executed.
    /// assert_eq!(Record::decode(b""), Err(RecordError::NotARecord));
    /// ```
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let Some((head, body)) = bytes.split_at_checked(HEAD) else {
            return Err(RecordError::NotARecord);
        };
        if head[..2] != MAGIC {
            return Err(RecordError::NotARecord);
        }
        if head[2] != Self::WIRE_VERSION {
            return Err(RecordError::UnknownVersion(head[2]));
        }
        if head[3..] != CHECKSUM.checksum(body).to_le_bytes() {
            return Err(RecordError::Damaged);
        }
        cbor::decode(body).ok_or(RecordError::Damaged)
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecord => f.write_str(
                "the stored bytes are not a record; look up the result of the request before you remove them",
            ),
            Self::UnknownVersion(version) => write!(
                f,
                "the record has version {version}, but this build reads version {}; deploy a build that reads both",
                Record::WIRE_VERSION
            ),
            Self::Damaged => f.write_str(
                "the stored record is damaged; look up the result of the request before you remove it",
            ),
        }
    }
}

impl core::error::Error for RecordError {}
