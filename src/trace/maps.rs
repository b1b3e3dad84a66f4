//! Maps keyed by digests and texts, and lists that grow in small steps.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use super::digest::Digest;

/// A hash map keyed by digests, which are hashes already.
pub(crate) type DigestMap<V> = HashMap<Digest, V, BuildHasherDefault<DigestHasher>>;

/// A hash set of digests.
pub(crate) type DigestSet = HashSet<Digest, BuildHasherDefault<DigestHasher>>;

/// Empties a map. Replaces a large one, because the cost of clearing a map grows with its capacity.
pub(crate) fn empty<V>(map: &mut DigestMap<V>) {
    const LARGE: usize = 1024;
    if map.capacity() > LARGE {
        *map = DigestMap::default();
    } else {
        map.clear();
    }
}

/// Estimates the bytes of a map's table: the number of slots is a power of two, at most seven eighths are
/// used, and each takes one byte in addition to its entry.
pub(crate) fn map_bytes<V>(map: &DigestMap<V>) -> usize {
    let capacity = map.capacity();
    if capacity == 0 {
        return 0;
    }
    let places = (capacity + capacity / 7).next_power_of_two();
    places * (size_of::<(Digest, V)>() + 1)
}

/// Appends an item, growing a full list by about an eighth. Open traces have many lists, and doubling could leave
/// each half empty.
#[inline]
pub(crate) fn lean_push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(4 + list.len() / 8);
    }
    list.push(item);
}

/// Uses half of a digest as its hash.
#[derive(Debug, Default, Clone)]
pub(crate) struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = self.0.rotate_left(5) ^ xxhash_rust::xxh3::xxh3_64(bytes);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// A hash map keyed by the ids and names of one input.
pub(crate) type TextMap<K, V> = HashMap<K, V, BuildHasherDefault<TextHasher>>;

/// A hash set of the ids and names of one input.
pub(crate) type TextSet<K> = HashSet<K, BuildHasherDefault<TextHasher>>;

/// Hashes texts with XXH3. Texts that are constructed to collide slow down reading.
#[derive(Debug, Default, Clone)]
pub(crate) struct TextHasher(u64);

impl Hasher for TextHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = self.0.rotate_left(5) ^ xxhash_rust::xxh3::xxh3_64(bytes);
    }

    // Called at the end of each text; `write_isize` gets the discriminants of enum keys.
    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0 ^ value).wrapping_mul(ODD).rotate_left(29);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_usize(value.cast_unsigned());
    }
}
