//! The bytes of messages between parts of one deployment, such as the gateway and its shards.
//!
//! A message is its values one after another, without names or types, so both sides must know its version.
//! Each value has exactly one form:
//!
//! | value | bytes |
//! |---|---|
//! | number | its width, little endian |
//! | `bool` | one byte, 0 or 1 |
//! | `Option` | one byte, 0 or 1, and the value if there is one |
//! | text, bytes | the length as `u32`, and the bytes |
//! | array of bytes | the bytes |
//! | list | the number of items as `u32`, and the items |
//! | struct, tuple | its fields in order |
//! | enum | the number of the variant in one byte, and its fields in order |
//!
//! A struct or an enum lists its fields once, by [`message_fields`](crate::message_fields) or
//! [`message_variants`](crate::message_variants), for both directions.

use minicbor::bytes::ByteVec;

/// A value that can be a part of a message.
pub trait Message: Sized {
    /// Writes the value behind what is there already.
    fn write(&self, to: &mut Vec<u8>);

    /// Reads a value from the start of the rest.
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed>;
}

/// The bytes are not this message. There is one error for every reason, because no caller can do more
/// about one of them than about another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The rest of a message.
pub struct Reader<'a>(&'a [u8]);

/// Returns the bytes of a message.
pub fn encode(message: &impl Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.write(&mut bytes);
    bytes
}

/// Reads a message that takes up all bytes.
pub fn decode<T: Message>(bytes: &[u8]) -> Result<T, Malformed> {
    let mut reader = Reader(bytes);
    let message = T::read(&mut reader)?;
    if reader.0.is_empty() { Ok(message) } else { Err(Malformed) }
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads a length. No length exceeds the bytes that are left, because each item takes at least one.
    /// So a message never makes its reader allocate more than a multiple of the message's own size.
    fn length(&mut self) -> Result<usize, Malformed> {
        let length = u32::read(self)? as usize;
        if length <= self.0.len() { Ok(length) } else { Err(Malformed) }
    }

    fn sized(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.length()?;
        self.take(length)
    }
}

fn write_length(length: usize, to: &mut Vec<u8>) {
    // No message comes near 4 GiB. The reader of a shorter length would find that bytes are left.
    (length as u32).write(to);
}

fn write_sized(bytes: &[u8], to: &mut Vec<u8>) {
    write_length(bytes.len(), to);
    to.extend_from_slice(bytes);
}

impl<const N: usize> Message for [u8; N] {
    fn write(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        from.take(N)?.try_into().map_err(|_| Malformed)
    }
}

macro_rules! numbers {
    ($($number:ident)*) => {
        $(impl Message for $number {
            fn write(&self, to: &mut Vec<u8>) {
                self.to_le_bytes().write(to);
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                Message::read(from).map(Self::from_le_bytes)
            }
        })*
    };
}

numbers! { u8 u16 u32 u64 }

impl Message for bool {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        match u8::read(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }
}

impl Message for String {
    fn write(&self, to: &mut Vec<u8>) {
        write_sized(self.as_bytes(), to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        core::str::from_utf8(from.sized()?).map(str::to_owned).map_err(|_| Malformed)
    }
}

impl Message for ByteVec {
    fn write(&self, to: &mut Vec<u8>) {
        write_sized(self, to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        from.sized().map(|bytes| bytes.to_vec().into())
    }
}

impl<T: Message> Message for Option<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.is_some().write(to);
        if let Some(value) = self {
            value.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

impl<T: Message> Message for Vec<T> {
    fn write(&self, to: &mut Vec<u8>) {
        write_length(self.len(), to);
        for item in self {
            item.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        (0..from.length()?).map(|_| T::read(from)).collect()
    }
}

impl<T: Message> Message for Box<T> {
    fn write(&self, to: &mut Vec<u8>) {
        T::write(self, to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        T::read(from).map(Box::new)
    }
}

impl Message for () {
    fn write(&self, _to: &mut Vec<u8>) {}

    fn read(_from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(())
    }
}

impl<A: Message, B: Message> Message for (A, B) {
    fn write(&self, to: &mut Vec<u8>) {
        self.0.write(to);
        self.1.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok((A::read(from)?, B::read(from)?))
    }
}

/// Makes a message of a struct: `message_fields!(Name { field, … })`, or `message_fields!(Name(field, …))`
/// with any names for fields that have none. They are written and read in this order.
#[macro_export]
macro_rules! message_fields {
    ($name:ident $( { $($field:ident),* $(,)? } )? $( ( $($item:ident),* ) )?) => {
        impl $crate::codec::message::Message for $name {
            fn write(&self, to: &mut Vec<u8>) {
                let Self $( { $($field),* } )? $( ( $($item),* ) )? = self;
                $($( $crate::codec::message::Message::write($field, to); )*)?
                $($( $crate::codec::message::Message::write($item, to); )*)?
            }

            fn read(
                from: &mut $crate::codec::message::Reader<'_>,
            ) -> Result<Self, $crate::codec::message::Malformed> {
                $($( let $field = $crate::codec::message::Message::read(from)?; )*)?
                $($( let $item = $crate::codec::message::Message::read(from)?; )*)?
                Ok(Self $( { $($field),* } )? $( ( $($item),* ) )?)
            }
        }
    };
}

/// Makes a message of an enum: `message_variants!(Name { 0: A, 1: B(field, …), 2: C { field, … } })`. The
/// numbers are in the message.
#[macro_export]
macro_rules! message_variants {
    ($name:ident {
        $($number:literal: $variant:ident $( { $($field:ident),* } )? $( ( $($item:ident),* ) )?),* $(,)?
    }) => {
        impl $crate::codec::message::Message for $name {
            fn write(&self, to: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $( { $($field),* } )? $( ( $($item),* ) )? => {
                        to.push($number);
                        $($( $crate::codec::message::Message::write($field, to); )*)?
                        $($( $crate::codec::message::Message::write($item, to); )*)?
                    })*
                }
            }

            fn read(
                from: &mut $crate::codec::message::Reader<'_>,
            ) -> Result<Self, $crate::codec::message::Malformed> {
                Ok(match <u8 as $crate::codec::message::Message>::read(from)? {
                    $($number => {
                        $($( let $field = $crate::codec::message::Message::read(from)?; )*)?
                        $($( let $item = $crate::codec::message::Message::read(from)?; )*)?
                        Self::$variant $( { $($field),* } )? $( ( $($item),* ) )?
                    })*
                    _ => return Err($crate::codec::message::Malformed),
                })
            }
        }
    };
}
