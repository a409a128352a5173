//! The CBOR (RFC 8949) of a stored record: fields with numbers, which later versions can add to.
//!
//! | value | CBOR |
//! |---|---|
//! | number, `bool`, text | itself |
//! | `Option` | `null`, or the value |
//! | array of bytes, body | a byte string |
//! | list, pair | an array |
//! | struct | an array of its fields in order. Fields at the end that are `None` are left out, and those that the reader does not know are skipped |
//! | enum | an array of the variant's number and the array of its fields |
//! | enum without fields, as in a policy | the variant's number |
//!
//! A type lists its fields once, by `record_fields`, `record_variants` or `record_numbers`, for both directions. The
//! form is that of minicbor's derived code, which makes a much larger wasm. Tests compare both.

use minicbor::bytes::ByteVec;

/// A value that a record can contain.
pub(crate) trait Write {
    /// Writes the value behind what is there already.
    fn write(&self, to: &mut Vec<u8>);

    /// Returns whether the value can be left out at the end of a struct.
    fn is_none(&self) -> bool {
        false
    }
}

/// A value that can be read from a record. Every function returns `None` for bytes that are no such value.
pub(crate) trait Read: Sized {
    /// Reads a value from the start of the rest.
    fn read(from: &mut Reader<'_>) -> Option<Self>;

    /// Returns the value of a field that is left out.
    fn left_out() -> Option<Self> {
        None
    }
}

/// Reads a value that takes up all bytes.
pub(crate) fn decode<T: Read>(bytes: &[u8]) -> Option<T> {
    let mut reader = Reader(bytes);
    T::read(&mut reader).filter(|_| reader.0.is_empty())
}

/// The types of CBOR items.
const NUMBER: u8 = 0;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
const OTHER: u8 = 7;

const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
const NULL: u8 = 0xf6;

/// The rest of a record.
pub(crate) struct Reader<'a>(&'a [u8]);

/// The items of an array that were not read yet: their number, or `None` if a break ends the array.
pub(crate) struct Items(Option<u64>);

impl<'a> Reader<'a> {
    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads the next byte if it is this one.
    fn takes(&mut self, byte: u8) -> bool {
        let rest = self.0.strip_prefix(&[byte]);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Reads the head of an item: its type, and its number or length, which is `None` if a break ends the item.
    fn head(&mut self) -> Option<(u8, Option<u64>)> {
        let first = self.take(1)?[0];
        let argument = match first & 31 {
            small @ 0..24 => Some(small.into()),
            wide @ 24..28 => {
                let bytes = self.take(1 << (wide - 24))?;
                Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
            }
            31 => None,
            _ => return None,
        };
        Some((first >> 5, argument))
    }

    /// Reads the head of an item of this type.
    fn head_of(&mut self, kind: u8) -> Option<Option<u64>> {
        let (found, argument) = self.head()?;
        (found == kind).then_some(argument)
    }

    fn number(&mut self) -> Option<u64> {
        self.head_of(NUMBER)?
    }

    /// Reads a text or a byte string.
    fn content(&mut self, kind: u8) -> Option<&'a [u8]> {
        let length = self.head_of(kind)??;
        self.take(length)
    }

    /// Begins to read an array.
    pub(crate) fn items(&mut self) -> Option<Items> {
        self.head_of(ARRAY).map(Items)
    }

    /// Reads an array's head, whose number of items must be 2.
    fn pair(&mut self) -> Option<()> {
        (self.items()?.0 == Some(2)).then_some(())
    }

    /// Reads the number of an enum's variant. Its fields follow.
    pub(crate) fn variant(&mut self) -> Option<u64> {
        self.pair()?;
        self.number()
    }

    /// Skips an item of any type, whatever it contains. Nothing recurses.
    pub(crate) fn skip(&mut self) -> Option<()> {
        let mut left = Items(Some(1));
        // The arrays and maps around those that `left` counts.
        let mut around = Vec::new();
        loop {
            if !left.next(self)? {
                match around.pop() {
                    Some(outer) => left = outer,
                    None => return Some(()),
                }
                continue;
            }
            let (kind, argument) = loop {
                let (kind, argument) = self.head()?;
                if kind != TAG {
                    break (kind, argument);
                }
                argument?;
            };
            match kind {
                BYTES | TEXT => match argument {
                    Some(length) => self.skip_content(kind, length)?,
                    None => {
                        let mut pieces = Items(None);
                        while pieces.next(self)? {
                            let length = self.head_of(kind)??;
                            self.skip_content(kind, length)?;
                        }
                    }
                },
                ARRAY | MAP => {
                    let items = argument.map(|n| if kind == MAP { n.saturating_mul(2) } else { n });
                    match (&mut left.0, items) {
                        // One count is enough, so deep nesting takes no memory.
                        (Some(left), Some(items)) => *left = left.saturating_add(items),
                        _ => around.push(std::mem::replace(&mut left, Items(items))),
                    }
                }
                // A number, or a value without content.
                _ => {
                    argument?;
                }
            }
        }
    }

    fn skip_content(&mut self, kind: u8, length: u64) -> Option<()> {
        let content = self.take(length)?;
        (kind == BYTES || std::str::from_utf8(content).is_ok()).then_some(())
    }
}

impl Items {
    /// Returns whether an item follows, and counts it.
    fn next(&mut self, from: &mut Reader<'_>) -> Option<bool> {
        match &mut self.0 {
            Some(0) => return Some(false),
            Some(left) => *left -= 1,
            None if from.takes(OTHER << 5 | 31) => {
                self.0 = Some(0);
                return Some(false);
            }
            None => {
                // A break is the only end.
                from.0.first()?;
            }
        }
        Some(true)
    }

    /// Reads the next field of a struct.
    pub(crate) fn field<T: Read>(&mut self, from: &mut Reader<'_>) -> Option<T> {
        if self.next(from)? { T::read(from) } else { T::left_out() }
    }

    /// Skips the fields that this version does not know.
    pub(crate) fn skip_rest(&mut self, from: &mut Reader<'_>) -> Option<()> {
        while self.next(from)? {
            from.skip()?;
        }
        Some(())
    }
}

/// Writes the head of an item in its shortest form.
fn write_head(kind: u8, argument: u64, to: &mut Vec<u8>) {
    let kind = kind << 5;
    let wide = match argument {
        0..24 => return to.push(kind | argument as u8),
        24..0x100 => 0,
        0x100..0x1_0000 => 1,
        0x1_0000..0x1_0000_0000 => 2,
        _ => 3,
    };
    to.push(kind | (24 + wide));
    to.extend_from_slice(&argument.to_be_bytes()[8 - (1 << wide)..]);
}

fn write_content(kind: u8, content: &[u8], to: &mut Vec<u8>) {
    write_head(kind, content.len() as u64, to);
    to.extend_from_slice(content);
}

/// Writes a struct.
pub(crate) fn write_fields(fields: &[&dyn Write], to: &mut Vec<u8>) {
    let count = fields.iter().rposition(|field| !field.is_none()).map_or(0, |last| last + 1);
    write_head(ARRAY, count as u64, to);
    fields[..count].iter().for_each(|field| field.write(to));
}

/// Writes a variant of an enum.
pub(crate) fn write_variant(number: u64, fields: &[&dyn Write], to: &mut Vec<u8>) {
    write_head(ARRAY, 2, to);
    write_head(NUMBER, number, to);
    write_fields(fields, to);
}

macro_rules! numbers {
    ($($number:ident)*) => {
        $(impl Write for $number {
            fn write(&self, to: &mut Vec<u8>) {
                write_head(NUMBER, u64::from(*self), to);
            }
        }

        impl Read for $number {
            fn read(from: &mut Reader<'_>) -> Option<Self> {
                from.number()?.try_into().ok()
            }
        })*
    };
}

numbers! { u8 u16 u32 u64 }

impl Write for bool {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(if *self { TRUE } else { FALSE });
    }
}

impl Read for bool {
    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let is_true = from.takes(TRUE);
        (is_true || from.takes(FALSE)).then_some(is_true)
    }
}

impl Write for String {
    fn write(&self, to: &mut Vec<u8>) {
        write_content(TEXT, self.as_bytes(), to);
    }
}

impl Read for String {
    fn read(from: &mut Reader<'_>) -> Option<Self> {
        std::str::from_utf8(from.content(TEXT)?).ok().map(str::to_owned)
    }
}

impl Write for ByteVec {
    fn write(&self, to: &mut Vec<u8>) {
        write_content(BYTES, self, to);
    }
}

impl Read for ByteVec {
    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(from.content(BYTES)?.to_vec().into())
    }
}

impl<const N: usize> Write for [u8; N] {
    fn write(&self, to: &mut Vec<u8>) {
        write_content(BYTES, self, to);
    }
}

impl<const N: usize> Read for [u8; N] {
    fn read(from: &mut Reader<'_>) -> Option<Self> {
        from.content(BYTES)?.try_into().ok()
    }
}

impl<T: Write> Write for Option<T> {
    fn write(&self, to: &mut Vec<u8>) {
        match self {
            Some(value) => value.write(to),
            None => to.push(NULL),
        }
    }

    fn is_none(&self) -> bool {
        Self::is_none(self)
    }
}

impl<T: Read> Read for Option<T> {
    fn read(from: &mut Reader<'_>) -> Option<Self> {
        if from.takes(NULL) { Some(None) } else { T::read(from).map(Some) }
    }

    fn left_out() -> Option<Self> {
        Some(None)
    }
}

impl<T: Write> Write for Vec<T> {
    fn write(&self, to: &mut Vec<u8>) {
        write_head(ARRAY, self.len() as u64, to);
        self.iter().for_each(|item| item.write(to));
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let mut items = from.items()?;
        let mut list = Self::new();
        // The list grows with what is there, whatever length was announced.
        while items.next(from)? {
            list.push(T::read(from)?);
        }
        Some(list)
    }
}

impl<A: Write, B: Write> Write for (A, B) {
    fn write(&self, to: &mut Vec<u8>) {
        write_head(ARRAY, 2, to);
        self.0.write(to);
        self.1.write(to);
    }
}

impl<A: Read, B: Read> Read for (A, B) {
    fn read(from: &mut Reader<'_>) -> Option<Self> {
        from.pair()?;
        Some((A::read(from)?, B::read(from)?))
    }
}

/// Stores a struct: `record_fields!(Name { field, … })`, in the order of the fields' numbers; or `record_fields!(Name(item))`
/// for a struct that is stored like its only field.
macro_rules! record_fields {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::codec::cbor::Write for $name {
            fn write(&self, to: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $crate::codec::cbor::write_fields(&[$($field),*], to);
            }
        }

        impl $crate::codec::cbor::Read for $name {
            fn read(from: &mut $crate::codec::cbor::Reader<'_>) -> Option<Self> {
                let mut items = from.items()?;
                $( let $field = items.field(from)?; )*
                items.skip_rest(from)?;
                Some(Self { $($field),* })
            }
        }
    };
    ($name:ident($item:ident)) => {
        impl $crate::codec::cbor::Write for $name {
            fn write(&self, to: &mut Vec<u8>) {
                let Self($item) = self;
                $item.write(to);
            }
        }

        impl $crate::codec::cbor::Read for $name {
            fn read(from: &mut $crate::codec::cbor::Reader<'_>) -> Option<Self> {
                $crate::codec::cbor::Read::read(from).map(Self)
            }
        }
    };
}

/// Stores an enum: `record_variants!(Name { 0: A, 1: B(field, …), 2: C { field, … } })`.
macro_rules! record_variants {
    // A variant without fields may get some, so whatever is there is skipped.
    (@read $from:ident $variant:ident) => {{
        $from.skip()?;
        Self::$variant
    }};
    (@read $from:ident $variant:ident { $($field:ident),* }) => {{
        let mut items = $from.items()?;
        $( let $field = items.field($from)?; )*
        items.skip_rest($from)?;
        Self::$variant { $($field),* }
    }};
    (@read $from:ident $variant:ident ( $($item:ident),* )) => {{
        let mut items = $from.items()?;
        $( let $item = items.field($from)?; )*
        items.skip_rest($from)?;
        Self::$variant($($item),*)
    }};
    ($name:ident {
        $($number:literal: $variant:ident $( { $($field:ident),* } )? $( ( $($item:ident),* ) )?),* $(,)?
    }) => {
        impl $crate::codec::cbor::Write for $name {
            fn write(&self, to: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $( { $($field),* } )? $( ( $($item),* ) )? => {
                        let fields: &[&dyn $crate::codec::cbor::Write] = &[$($($field),*)? $($($item),*)?];
                        $crate::codec::cbor::write_variant($number, fields, to);
                    })*
                }
            }
        }

        impl $crate::codec::cbor::Read for $name {
            fn read(from: &mut $crate::codec::cbor::Reader<'_>) -> Option<Self> {
                Some(match from.variant()? {
                    $($number => $crate::codec::cbor::record_variants!(
                        @read from $variant $( { $($field),* } )? $( ( $($item),* ) )?
                    ),)*
                    _ => return None,
                })
            }
        }
    };
}

/// Stores an enum without fields as a number: `record_numbers!(Name { 0: A, 1: B })`.
macro_rules! record_numbers {
    ($name:ident { $($number:literal: $variant:ident),* $(,)? }) => {
        impl $crate::codec::cbor::Write for $name {
            fn write(&self, to: &mut Vec<u8>) {
                let number: u8 = match self { $(Self::$variant => $number),* };
                number.write(to);
            }
        }

        impl $crate::codec::cbor::Read for $name {
            fn read(from: &mut $crate::codec::cbor::Reader<'_>) -> Option<Self> {
                Some(match u64::read(from)? {
                    $($number => Self::$variant,)*
                    _ => return None,
                })
            }
        }
    };
}

pub(crate) use {record_fields, record_numbers, record_variants};
