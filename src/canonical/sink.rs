//! The destinations of a canonical form: a hash, or memory that the platform hashes.

use sha2::{Digest, Sha256};

/// A destination for a canonical form.
pub(crate) trait Sink {
    /// Writes bytes.
    fn put(&mut self, bytes: &[u8]);

    /// Writes a byte.
    fn put_byte(&mut self, byte: u8) {
        self.put(&[byte]);
    }

    /// Writes the length of some bytes, and then the bytes. So two different lists of parts are never
    /// written as the same bytes.
    fn put_sized(&mut self, bytes: &[u8]) {
        self.put_count(bytes.len());
        self.put(bytes);
    }

    /// Writes a count as 64 bits in big-endian order.
    fn put_count(&mut self, count: usize) {
        self.put(&(count as u64).to_be_bytes());
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// A buffer in front of a hash or of memory. Canonical text is written in very small pieces, and each
/// call of the hash function has a cost.
pub(crate) struct BufferedSink {
    behind: Behind,
    buffer: [u8; Self::BUFFER],
    filled: usize,
}

/// What is behind the buffer. Were it a type parameter, all code that writes would be there twice.
enum Behind {
    Hash(Sha256),
    Memory(Vec<u8>),
}

impl BufferedSink {
    const BUFFER: usize = 1024;

    /// Returns a sink that hashes.
    pub(crate) fn hash() -> Self {
        Self::before(Behind::Hash(Sha256::new()))
    }

    /// Returns a sink that keeps the bytes. It has room for `capacity` of them.
    pub(crate) fn memory(capacity: usize) -> Self {
        Self::before(Behind::Memory(Vec::with_capacity(capacity)))
    }

    fn before(behind: Behind) -> Self {
        Self { behind, buffer: [0; Self::BUFFER], filled: 0 }
    }

    /// Returns the hash of all bytes. Of a sink that keeps them, this hashes them now.
    pub(crate) fn into_hash(mut self) -> [u8; 32] {
        self.flush();
        match self.behind {
            Behind::Hash(hasher) => hasher.finalize(),
            Behind::Memory(bytes) => Sha256::digest(bytes),
        }
        .into()
    }

    /// Returns all bytes. A sink that hashes has none.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        self.flush();
        match self.behind {
            Behind::Hash(_) => Vec::new(),
            Behind::Memory(bytes) => bytes,
        }
    }

    fn flush(&mut self) {
        self.behind.put(&self.buffer[..self.filled]);
        self.filled = 0;
    }
}

impl Sink for Behind {
    fn put(&mut self, bytes: &[u8]) {
        match self {
            Self::Hash(hasher) => hasher.update(bytes),
            Self::Memory(memory) => memory.extend_from_slice(bytes),
        }
    }
}

impl Sink for BufferedSink {
    fn put_byte(&mut self, byte: u8) {
        if self.filled == Self::BUFFER {
            self.flush();
        }
        self.buffer[self.filled] = byte;
        self.filled += 1;
    }

    fn put(&mut self, bytes: &[u8]) {
        if bytes.len() > Self::BUFFER - self.filled {
            self.flush();
            if bytes.len() >= Self::BUFFER {
                return self.behind.put(bytes);
            }
        }
        copy(bytes, &mut self.buffer[self.filled..][..bytes.len()]);
        self.filled += bytes.len();
    }
}

/// Copies bytes to a place of the same length. Most pieces are short, and in wasm a copy of a length that
/// is known is a few instructions, where any other is a call.
fn copy(from: &[u8], to: &mut [u8]) {
    fn ends<const N: usize>(from: &[u8], to: &mut [u8]) -> Option<()> {
        *to.first_chunk_mut::<N>()? = *from.first_chunk()?;
        *to.last_chunk_mut::<N>()? = *from.last_chunk()?;
        Some(())
    }
    match from.len() {
        0 => Some(()),
        1..=2 => ends::<1>(from, to),
        3..=4 => ends::<2>(from, to),
        5..=8 => ends::<4>(from, to),
        9..=16 => ends::<8>(from, to),
        17..=32 => ends::<16>(from, to),
        _ => None,
    }
    .unwrap_or_else(|| to.copy_from_slice(from));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_does_not_depend_on_the_sizes_of_the_pieces() {
        let whole: Vec<u8> = (0..10_000u32).map(|i| (i * 31 % 251) as u8).collect();
        for sizes in [
            &[1usize][..],
            &[7, 1023],
            &[1024],
            &[1, 1024, 3],
            &[1025, 2],
            &[512, 512, 1],
            &[5000],
            &[1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33],
        ] {
            let (mut hash, mut memory) = (BufferedSink::hash(), BufferedSink::memory(0));
            let (mut rest, mut turn) = (&whole[..], 0);
            while !rest.is_empty() {
                let (piece, later) = rest.split_at(sizes[turn % sizes.len()].min(rest.len()));
                match piece {
                    [byte] => [&mut hash, &mut memory].map(|sink| sink.put_byte(*byte)),
                    piece => [&mut hash, &mut memory].map(|sink| sink.put(piece)),
                };
                (rest, turn) = (later, turn + 1);
            }
            assert_eq!(hash.into_hash(), <[u8; 32]>::from(Sha256::digest(&whole)), "{sizes:?}");
            assert_eq!(memory.into_bytes(), whole, "{sizes:?}");
        }
    }
}
