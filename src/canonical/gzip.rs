//! Gzip streams, compared without their header.

/// Returns the compressed data and the trailer of a gzip stream, without its header (RFC 1952 §2.3). The
/// header contains the time, file name and system of the compression, but none of the content. Returns
/// `None` if the bytes are not a gzip stream. Nothing is decompressed.
///
/// The header of a second member in the same stream is kept, because its position can only be found by
/// decompressing.
pub(crate) fn without_header(bytes: &[u8]) -> Option<&[u8]> {
    const HEADER_CRC: u8 = 0x02;
    const EXTRA: u8 = 0x04;
    const NAME: u8 = 0x08;
    const COMMENT: u8 = 0x10;
    const RESERVED: u8 = 0xe0;
    let &[0x1f, 0x8b, 8, flags, _, _, _, _, _, _, ref rest @ ..] = bytes else {
        return None;
    };
    if flags & RESERVED != 0 {
        return None;
    }
    let mut rest = rest;
    if flags & EXTRA != 0 {
        let (length, behind) = rest.split_first_chunk::<2>()?;
        rest = behind.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & HEADER_CRC != 0 {
        rest = rest.get(2..)?;
    }
    // The shortest compressed data has two bytes, and the trailer has eight.
    (rest.len() >= 10).then_some(rest)
}
