//! Where a canonical form is written to: a hash, or memory.

use sha2::{Digest, Sha256};

pub(crate) trait Sink {
    fn put(&mut self, bytes: &[u8]);

    /// Bytes with their length before them, so that no two lists of parts are written alike.
    fn put_sized(&mut self, bytes: &[u8]) {
        self.put_count(bytes.len());
        self.put(bytes);
    }

    /// 64 bits, big-endian.
    fn put_count(&mut self, count: usize) {
        self.put(&(count as u64).to_be_bytes());
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// SHA-256 behind a buffer: canonical text comes in very small pieces, and each call of the hash
/// has its price.
pub(crate) struct Hashing {
    hasher: Sha256,
    buffer: [u8; Self::BUFFER],
    filled: usize,
}

impl Hashing {
    const BUFFER: usize = 1024;

    pub(crate) fn new() -> Self {
        Self { hasher: Sha256::new(), buffer: [0; Self::BUFFER], filled: 0 }
    }

    pub(crate) fn finish(mut self) -> [u8; 32] {
        self.flush();
        self.hasher.finalize().into()
    }

    fn flush(&mut self) {
        self.hasher.update(&self.buffer[..self.filled]);
        self.filled = 0;
    }
}

impl Sink for Hashing {
    fn put(&mut self, bytes: &[u8]) {
        if bytes.len() > Self::BUFFER - self.filled {
            self.flush();
            if bytes.len() >= Self::BUFFER {
                self.hasher.update(bytes);
                return;
            }
        }
        self.buffer[self.filled..][..bytes.len()].copy_from_slice(bytes);
        self.filled += bytes.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_give_the_hash_of_the_whole() {
        let whole: Vec<u8> = (0..10_000u32).map(|i| (i * 31 % 251) as u8).collect();
        for sizes in
            [&[1usize][..], &[7, 1023], &[1024], &[1, 1024, 3], &[1025, 2], &[512, 512, 1], &[5000]]
        {
            let mut hashing = Hashing::new();
            let (mut rest, mut turn) = (&whole[..], 0);
            while !rest.is_empty() {
                let (piece, later) = rest.split_at(sizes[turn % sizes.len()].min(rest.len()));
                hashing.put(piece);
                (rest, turn) = (later, turn + 1);
            }
            assert_eq!(hashing.finish(), <[u8; 32]>::from(Sha256::digest(&whole)), "{sizes:?}");
        }
    }
}
