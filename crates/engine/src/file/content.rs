//! What a file holds: sectors of 512 bytes, each of which says where it belongs and which version
//! it is, the rest being a function of the seed, the place and the version.
//!
//! So whatever is read can be checked byte by byte, whichever block size it was written with, and
//! nothing about the writing has to be remembered. The rest of a sector is an arithmetic sequence
//! of random start and step: no two words are alike, so that neither compression nor deduplication
//! below has an easier life than with real data, and it costs an addition a word to make.

use base::random::Key;

use super::Flaw;

/// The smallest stretch that says what it is.
pub const SECTOR: usize = 512;
/// The words with which each begins: what made it, where it belongs, its version.
const HEAD: usize = 3;
/// What made it.
const MARK: u64 = u64::from_le_bytes(*b"benchlab");

/// The content of a seed's files.
#[derive(Clone, Copy, Debug)]
pub struct Content(Key);

impl Content {
    /// The content that belongs to a seed.
    pub fn new(seed: u64) -> Content {
        Content(Key::new(seed, "file"))
    }

    /// Appends a stretch from `offset` on, whole sectors, in one version.
    pub fn append(self, offset: u64, version: u64, length: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + length, 0);
        let mut at = offset;
        for sector in out[start..].chunks_exact_mut(SECTOR) {
            let (head, rest) = sector.split_at_mut(8 * HEAD);
            for (place, word) in head.chunks_exact_mut(8).zip([MARK, at, version]) {
                place.copy_from_slice(&word.to_le_bytes());
            }
            let [mut word, step] = self.sequence(at, version);
            for place in rest.chunks_exact_mut(8) {
                place.copy_from_slice(&word.to_le_bytes());
                word = word.wrapping_add(step);
            }
            at += SECTOR as u64;
        }
    }

    /// Whether a stretch, found at `offset`, is whole sectors that belong there, of any version.
    pub fn check(self, offset: u64, found: &[u8]) -> Result<(), Flaw> {
        let mut at = offset;
        for sector in found.chunks_exact(SECTOR) {
            let (head, rest) = sector.split_at(8 * HEAD);
            let mut words = head.chunks_exact(8).map(word_of);
            let [mark, says, version] = std::array::from_fn(|_| words.next().unwrap_or(0));
            let [mut word, step] = self.sequence(at, version);
            let mut differs = 0;
            for place in rest.chunks_exact(8) {
                differs |= word_of(place) ^ word;
                word = word.wrapping_add(step);
            }
            if mark != MARK || says != at || differs != 0 {
                return Err(flaw(sector, at));
            }
            at += SECTOR as u64;
        }
        Ok(())
    }

    /// Start and step of what follows a sector's head.
    fn sequence(self, at: u64, version: u64) -> [u64; 2] {
        let sector = (at / SECTOR as u64) as u32;
        // Files beyond 2 TiB have the same pairs again, under another version.
        let [start, step] = self.0.pair(version ^ (at >> 41 << 32), sector);
        [start, step | 1]
    }
}

/// Whether a file that begins like this may be written to: there is nothing of anybody else's.
pub fn is_ours(beginning: &[u8]) -> bool {
    let marked = beginning.len() >= SECTOR && word_of(&beginning[..8]) == MARK;
    marked || beginning.iter().all(|&byte| byte == 0)
}

fn word_of(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

/// What is wrong with a sector that is not right.
#[cold]
fn flaw(sector: &[u8], at: u64) -> Flaw {
    if sector.iter().all(|&byte| byte == 0) {
        Flaw::Blank
    } else if word_of(sector) != MARK {
        Flaw::Foreign
    } else if word_of(&sector[8..]) != at {
        Flaw::Misplaced
    } else {
        Flaw::Altered
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn block(seed: u64, offset: u64, version: u64) -> Vec<u8> {
        let mut block = Vec::new();
        Content::new(seed).append(offset, version, 8 * SECTOR, &mut block);
        block
    }

    #[test]
    fn what_is_wrong_with_a_sector_is_told() {
        let content = Content::new(1);
        let right = block(1, 4096, 7);
        let at = 4096 + 512;
        let mut other = right.clone();
        for (wrong, flaw) in [
            (vec![0; 512], Flaw::Blank),
            (vec![b'x'; 512], Flaw::Foreign),
            (block(1, 0, 7)[..512].to_vec(), Flaw::Misplaced),
            (block(2, at, 7)[..512].to_vec(), Flaw::Altered),
        ] {
            other[512..1024].copy_from_slice(&wrong);
            assert_eq!(content.check(4096, &other), Err(flaw));
        }
        // Sectors of several versions are of several writes.
        other[512..1024].copy_from_slice(&block(1, at, 8)[..512]);
        assert_eq!(content.check(4096, &other), Ok(()));
    }

    #[test]
    fn only_what_is_nobody_elses_is_written_over() {
        for (beginning, ours) in [
            (&b""[..], true),
            (&[0; 512], true),
            (&block(9, 0, 1)[..512], true),
            (b"#!/bin", false),
        ] {
            assert_eq!(is_ours(beginning), ours);
        }
    }

    proptest! {
        #[test]
        fn every_bit_counts(
            seed: u64, sector in 0..1u64 << 40, version: u64, bit in 0..8 * 4096usize,
        ) {
            let offset = sector * 512;
            let mut block = block(seed, offset, version);
            prop_assert_eq!(Content::new(seed).check(offset, &block), Ok(()));
            block[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Content::new(seed).check(offset, &block).is_err());
        }
    }

    #[test]
    fn no_word_comes_twice() {
        let mut all: Vec<u64> = Vec::new();
        for version in 0..4 {
            let block = block(3, 1 << 30, version);
            let rests = block.chunks_exact(SECTOR).flat_map(|sector| sector[24..].chunks_exact(8));
            all.extend(rests.map(word_of));
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
