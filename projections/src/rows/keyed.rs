//! A map from bytes to values that is quick to look into, for as long as one chunk lasts.
//!
//! Keys of views are long and begin alike, which makes comparing them dear; so they are found by a number
//! that is mixed from them. The order of the numbers means nothing and differs in no run.

use super::Bytes;
use std::collections::BTreeMap;

/// Nothing is ever taken out, so a place that is taken by another key means: look at the next one.
#[derive(Debug)]
pub(crate) struct Keyed<T>(BTreeMap<u64, (Bytes, T)>);

impl<T> Default for Keyed<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Keyed<T> {
    /// Where a key is, or where it would be put.
    fn place(&self, key: &[u8]) -> u64 {
        let mut place = mix(key);
        while self.0.get(&place).is_some_and(|(found, _)| **found != *key) {
            place = place.wrapping_add(1);
        }
        place
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&T> {
        match self.0.get(&mix(key)) {
            None => None,
            Some((found, value)) if **found == *key => Some(value),
            Some(_) => self.0.get(&self.place(key)).map(|(_, value)| value),
        }
    }

    pub(crate) fn get_mut(&mut self, key: &[u8]) -> Option<&mut T> {
        let place = self.place(key);
        self.0.get_mut(&place).map(|(_, value)| value)
    }

    /// Puts a value under a key that is not there yet.
    pub(crate) fn put_new(&mut self, key: &[u8], value: T) {
        let place = self.place(key);
        self.0.insert(place, (key.into(), value));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Bytes, T)> {
        self.0.values()
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = (Bytes, T)> {
        self.0.into_values()
    }
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
    use super::{Keyed, mix};

    #[test]
    fn every_key_has_its_own_value_even_where_the_numbers_meet() {
        let mut map = Keyed::default();
        // A place that is taken by another key, on purpose.
        map.0.insert(mix(b"a"), (b"other".as_slice().into(), 0));
        map.put_new(b"a", 1);
        map.put_new(b"b", 2);
        *map.get_mut(b"a").unwrap() += 10;

        assert_eq!(
            (map.get(b"a"), map.get(b"b"), map.get(b"c")),
            (Some(&11), Some(&2), None)
        );
        assert_eq!(map.into_iter().count(), 3);
    }
}
