//! A map from bytes to values that is quick to look into.
//!
//! Keys of views are long and begin alike, which makes comparing them dear; so they are found by a number
//! that is mixed from them. Going through the map gives its keys in the order in which they came, so
//! runs do not differ.

use super::Bytes;

/// Where entries that are kept elsewhere are found again by a number that is mixed from their keys.
///
/// Nothing is ever taken out alone, so a place that is taken by another key means: look at the next one.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// None at first, then a power of two of places, at most half of them taken.
    places: Vec<Place>,
}

/// Where the entry of a key is.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Half of the mixed number: where to begin, and most other keys are told apart by it alone.
    sum: u32,
    /// The number of the entry, counted from 1; 0 means that the place is free.
    entry: u32,
}

/// How many places there are once there is one.
const PLACES_MIN: usize = 64;

impl Places {
    /// The number of an entry, or the place where it would be noted.
    pub(crate) fn find(&self, sum: u32, is: impl Fn(usize) -> bool) -> Result<usize, usize> {
        let mask = self.places.len().saturating_sub(1);
        let mut at = sum as usize & mask;
        while let Some(place) = self.places.get(at) {
            let Some(entry) = (place.entry as usize).checked_sub(1) else {
                break;
            };
            if place.sum == sum && is(entry) {
                return Ok(entry);
            }
            at = (at + 1) & mask;
        }
        Err(at)
    }

    /// Notes an entry, counted from 0, at the place where it was not found.
    pub(crate) fn take(&mut self, place: usize, sum: u32, entry: usize) {
        // Chunks and what gathers of them are bounded far below this number of rows.
        let entry = u32::try_from(entry + 1).unwrap_or(0);
        if let Some(free) = self.places.get_mut(place) {
            *free = Place { sum, entry };
        }
    }

    /// Makes room for one more than there are.
    pub(crate) fn reserve(&mut self, entries: usize) {
        if (entries + 1) * 2 <= self.places.len() {
            return;
        }
        let count = (self.places.len() * 2).max(PLACES_MIN);
        let grown = vec![Place::default(); count];
        let taken = std::mem::replace(&mut self.places, grown);
        for place in taken.into_iter().filter(|place| place.entry != 0) {
            let mut at = place.sum as usize & (count - 1);
            while self.places.get(at).is_some_and(|place| place.entry != 0) {
                at = (at + 1) & (count - 1);
            }
            if let Some(free) = self.places.get_mut(at) {
                *free = place;
            }
        }
    }

    /// Forgets all entries, and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.places.fill(Place::default());
    }
}

/// Values by their keys.
#[derive(Debug)]
pub(crate) struct Keyed<T> {
    places: Places,
    entries: Vec<(Bytes, T)>,
}

impl<T> Default for Keyed<T> {
    fn default() -> Self {
        Self {
            places: Places::default(),
            entries: Vec::new(),
        }
    }
}

impl<T> Keyed<T> {
    pub(crate) fn get(&self, key: &[u8]) -> Option<&T> {
        let entry = self.find(key, sum(key)).ok()?;
        self.entries.get(entry).map(|(_, value)| value)
    }

    /// Changes the value of a key with what is given, or makes its first one of that.
    pub(crate) fn upsert<V>(
        &mut self,
        key: &[u8],
        given: V,
        change: impl FnOnce(&mut T, V),
        make: impl FnOnce(V) -> T,
    ) {
        self.places.reserve(self.entries.len());
        let sum = sum(key);
        match self.find(key, sum) {
            Ok(entry) => {
                if let Some((_, value)) = self.entries.get_mut(entry) {
                    change(value, given);
                }
            }
            Err(place) => {
                self.places.take(place, sum, self.entries.len());
                self.entries.push((key.into(), make(given)));
            }
        }
    }

    fn find(&self, key: &[u8], sum: u32) -> Result<usize, usize> {
        let is = |entry: usize| self.entries.get(entry).is_some_and(|(k, _)| **k == *key);
        self.places.find(sum, is)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Bytes, T)> {
        self.entries.iter()
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = (Bytes, T)> {
        self.entries.into_iter()
    }
}

/// Half of the mixed number.
pub(crate) fn sum(key: &[u8]) -> u32 {
    u32::try_from(mix(key) >> 32).unwrap_or(0)
}

/// A number that differs where keys differ, nearly always. It guards nothing.
pub(crate) fn mix(key: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = key.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let mut hash = u64::try_from(key.len()).unwrap_or(0);
    for word in words.iter().chain([&last]) {
        hash = (hash.rotate_left(23) ^ u64::from_le_bytes(*word)).wrapping_mul(ODD);
    }
    (hash ^ (hash >> 29)).wrapping_mul(ODD)
}

#[cfg(test)]
mod tests {
    use super::{Keyed, sum};

    #[test]
    fn every_key_has_its_own_value_even_where_the_numbers_meet() {
        let mut map = Keyed::default();
        for (key, given) in [(b"a", 1), (b"b", 2), (b"a", 10)] {
            map.upsert(key, given, |value, given| *value += given, |given| given);
        }
        // Another key with the number of `a`, on purpose.
        let sum = sum(b"a");
        let next = map.find(b"other", sum).unwrap_err();
        map.places.take(next, sum, map.entries.len());
        map.entries.push((b"other".as_slice().into(), 7));

        assert_eq!(
            (map.get(b"a"), map.get(b"b"), map.get(b"c")),
            (Some(&11), Some(&2), None)
        );
        assert_eq!(map.find(b"other", sum), Ok(2));
    }

    #[test]
    fn keys_come_back_in_the_order_in_which_they_came_however_many() {
        let mut map = Keyed::default();
        let key = |n: u32| format!("context-{n}-aaaa").into_bytes();

        for n in 0..5_000 {
            map.upsert(&key(n), n, |_, _| {}, |n| n);
        }

        assert!((0..5_000).all(|n| map.get(&key(n)) == Some(&n)));
        assert_eq!(map.get(&key(5_000)), None);
        assert!(map.into_iter().map(|(_, n)| n).eq(0..5_000));
    }
}
