//! What a scanner has seen before: keys (label blocks or metric names) and the ids given to them.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

/// An entry's number; entries never move until the memo is cleared.
pub(super) type Index = u32;

/// No entry.
pub(super) const NONE: Index = Index::MAX;

/// Entries that may lie unused before the memo counts as wasteful: below this, dropping saves nothing.
const SLACK_ENTRIES: usize = 64;

/// Slots of the first table, enough for a node of eight GPUs.
const FIRST_SLOTS: usize = 64;

#[derive(Debug, Clone, Copy)]
struct Entry<T> {
    start: usize,
    end: usize,
    hash: u64,
    id: T,
    /// The entry that followed this one last time, or [`NONE`].
    next: Index,
    /// The last scan that used the entry.
    used_in: u32,
    /// Whether finding the key at the start of other bytes settles how those bytes parse.
    by_bytes: bool,
}

/// A hash table of byte strings in one arena, bounded by entries and bytes, in order of first sight.
///
/// The hash is seeded: keys come from tenants. Which entry is found never depends on the seed.
#[derive(Debug)]
pub(super) struct Memo<T> {
    hasher: RandomState,
    text: Vec<u8>,
    entries: Vec<Entry<T>>,
    /// Open addressing with linear probing, at most half full; a power of two, or empty.
    slots: Vec<Index>,
    max_entries: usize,
    max_bytes: usize,
    scan: u32,
    used: usize,
}

impl<T: Copy> Memo<T> {
    pub(super) fn new(max_entries: usize, max_bytes: usize) -> Self {
        Self {
            hasher: RandomState::default(),
            text: Vec::new(),
            entries: Vec::new(),
            slots: Vec::new(),
            max_entries: max_entries.min(NONE as usize),
            max_bytes,
            scan: 0,
            used: 0,
        }
    }

    pub(super) fn enabled(&self) -> bool {
        self.max_entries > 0
    }

    /// Starts counting used entries afresh.
    pub(super) fn start_scan(&mut self) {
        self.scan = self.scan.wrapping_add(1);
        self.used = 0;
    }

    /// Whether most entries were of no use to the scan just done.
    pub(super) fn is_wasteful(&self) -> bool {
        self.entries.len() > 2 * self.used + SLACK_ENTRIES
    }

    /// Forgets everything and gives the memory back.
    pub(super) fn clear(&mut self) {
        self.text = Vec::new();
        self.entries = Vec::new();
        self.slots = Vec::new();
        self.used = 0;
    }

    /// The hash of a key, to find and insert it by; 0 where nothing is remembered.
    #[inline]
    pub(super) fn hash(&self, key: &[u8]) -> u64 {
        if self.enabled() {
            self.hasher.hash_one(key)
        } else {
            0
        }
    }

    #[inline]
    pub(super) fn find(&self, key: &[u8], hash: u64) -> Option<Index> {
        if self.slots.is_empty() {
            return None;
        }
        self.search(key, hash)
    }

    fn search(&self, key: &[u8], hash: u64) -> Option<Index> {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let index = self.slots[slot];
            if index == NONE {
                return None;
            }
            if self.entries[index as usize].hash == hash && self.key(index) == key {
                return Some(index);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Remembers a key that [`Memo::find`] did not find; `None` when the memo is full.
    #[inline]
    pub(super) fn insert(&mut self, key: &[u8], hash: u64, id: T, by_bytes: bool) -> Option<Index> {
        if self.entries.len() >= self.max_entries
            || self.text.len().saturating_add(key.len()) > self.max_bytes
        {
            return None;
        }
        Some(self.add(key, hash, id, by_bytes))
    }

    fn add(&mut self, key: &[u8], hash: u64, id: T, by_bytes: bool) -> Index {
        let index = self.entries.len() as Index;
        let start = self.text.len();
        self.text.extend_from_slice(key);
        self.entries.push(Entry {
            start,
            end: self.text.len(),
            hash,
            id,
            next: NONE,
            used_in: self.scan.wrapping_sub(1),
            by_bytes,
        });
        if self.entries.len() * 2 > self.slots.len() {
            self.grow();
        } else {
            self.place(index);
        }
        index
    }

    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(FIRST_SLOTS);
        self.slots.clear();
        self.slots.resize(slots, NONE);
        for index in 0..self.entries.len() {
            self.place(index as Index);
        }
    }

    fn place(&mut self, index: Index) {
        let mask = self.slots.len() - 1;
        let mut slot = self.entries[index as usize].hash as usize & mask;
        while self.slots[slot] != NONE {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = index;
    }

    #[inline]
    pub(super) fn key(&self, index: Index) -> &[u8] {
        let entry = &self.entries[index as usize];
        &self.text[entry.start..entry.end]
    }

    #[inline]
    pub(super) fn by_bytes(&self, index: Index) -> bool {
        self.entries[index as usize].by_bytes
    }

    /// The entry expected after `previous`: the one that followed it last time, else the first.
    #[inline]
    pub(super) fn after(&self, previous: Index) -> Option<Index> {
        let next = match self.entries.get(previous as usize) {
            Some(entry) => entry.next,
            None => 0,
        };
        ((next as usize) < self.entries.len()).then_some(next)
    }

    /// Uses `index` after `previous` (or [`NONE`]), notes the order, and returns the id.
    #[inline]
    pub(super) fn take(&mut self, index: Index, previous: Index) -> T {
        if let Some(entry) = self.entries.get_mut(previous as usize) {
            entry.next = index;
        }
        let entry = &mut self.entries[index as usize];
        if entry.used_in != self.scan {
            entry.used_in = self.scan;
            self.used += 1;
        }
        entry.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(memo: &mut Memo<usize>, key: &[u8], id: usize) -> Option<Index> {
        let hash = memo.hash(key);
        assert_eq!(memo.find(key, hash), None);
        memo.insert(key, hash, id, true)
    }

    #[test]
    fn finds_what_was_put_and_nothing_else() {
        let mut memo = Memo::new(10_000, usize::MAX);
        for id in 0..5_000 {
            put(&mut memo, format!("key {id}").as_bytes(), id);
        }
        for id in 0..5_000 {
            let key = format!("key {id}");
            let index = memo.find(key.as_bytes(), memo.hash(key.as_bytes()));
            assert_eq!(index.map(|index| memo.take(index, NONE)), Some(id));
        }
        assert_eq!(memo.find(b"key", memo.hash(b"key")), None);
    }

    #[test]
    fn equal_hashes_are_told_apart_by_their_bytes() {
        let mut memo = Memo::new(10, 100);
        let (a, b) = (
            memo.insert(b"a", 7, 'a', true),
            memo.insert(b"b", 7, 'b', true),
        );
        assert_eq!(
            (memo.find(b"a", 7), memo.find(b"b", 7), memo.find(b"c", 7)),
            (a, b, None)
        );
    }

    #[test]
    fn full_by_entries_or_bytes() {
        let mut memo = Memo::new(2, 5);
        assert!(put(&mut memo, b"abc", 0).is_some());
        assert!(put(&mut memo, b"xyz", 1).is_none(), "six bytes");
        assert!(put(&mut memo, b"xy", 1).is_some());
        assert!(put(&mut memo, b"", 2).is_none(), "three entries");
        let off = Memo::<()>::new(0, 5);
        assert!(!off.enabled());
    }

    #[test]
    fn wasteful_when_most_was_not_used() {
        let mut memo = Memo::new(1_000, 100_000);
        memo.start_scan();
        let unused = SLACK_ENTRIES + 1;
        for id in 0..2 + unused {
            let index = put(&mut memo, id.to_string().as_bytes(), id).unwrap_or(NONE);
            memo.take(index, NONE);
        }
        assert!(!memo.is_wasteful());
        memo.start_scan();
        memo.take(0, NONE);
        memo.take(0, 0);
        assert!(memo.is_wasteful(), "1 used of 67, 66 may be");
        memo.take(1, 0);
        assert!(!memo.is_wasteful());
        memo.clear();
        assert!(!memo.is_wasteful());
        assert_eq!(memo.find(b"0", memo.hash(b"0")), None);
    }

    #[test]
    fn expects_what_followed_last_time() {
        let mut memo = Memo::new(10, 100);
        assert_eq!(memo.after(NONE), None);
        for id in 0..3 {
            put(&mut memo, id.to_string().as_bytes(), id);
        }
        assert_eq!((memo.after(NONE), memo.after(0)), (Some(0), None));
        memo.take(2, 0);
        assert_eq!(memo.after(0), Some(2));
    }
}
