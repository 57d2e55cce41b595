//! A map from bytes to values that is quick to look into, for as long as one chunk lasts.
//!
//! Keys of views are long and begin alike, which makes comparing them dear; so they are found by a number
//! that is mixed from them. The order of the numbers means nothing and differs in no run.

use super::Bytes;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Nothing is ever taken out, so a place that is taken by another key means: look at the next one.
#[derive(Debug)]
pub(crate) struct Keyed<T>(BTreeMap<u64, (Bytes, T)>);

impl<T> Default for Keyed<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Keyed<T> {
    pub(crate) fn get(&self, key: &[u8]) -> Option<&T> {
        let mut place = mix(key);
        loop {
            let (found, value) = self.0.get(&place)?;
            if **found == *key {
                return Some(value);
            }
            place = place.wrapping_add(1);
        }
    }

    /// Changes the value of a key with what is given, or makes its first one of that.
    pub(crate) fn upsert<V>(
        &mut self,
        key: &[u8],
        given: V,
        change: impl FnOnce(&mut T, V),
        make: impl FnOnce(V) -> T,
    ) {
        let mut place = mix(key);
        loop {
            match self.0.entry(place) {
                Entry::Vacant(free) => {
                    free.insert((key.into(), make(given)));
                    return;
                }
                Entry::Occupied(mut taken) if *taken.get().0 == *key => {
                    change(&mut taken.get_mut().1, given);
                    return;
                }
                Entry::Occupied(_) => place = place.wrapping_add(1),
            }
        }
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
        for (key, given) in [(b"a", 1), (b"b", 2), (b"a", 10)] {
            map.upsert(key, given, |value, given| *value += given, |given| given);
        }

        assert_eq!(
            (map.get(b"a"), map.get(b"b"), map.get(b"c")),
            (Some(&11), Some(&2), None)
        );
        assert_eq!(map.into_iter().count(), 3);
    }
}
