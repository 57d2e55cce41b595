//! Wall-clock moments, to the microsecond, in the one stored spelling.

use super::id::{NotAnId, deserialize_text};
use jiff::civil;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Microseconds since 1970-01-01T00:00:00Z, without leap seconds. Never negative, at most 9999-12-30.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

/// 9999-12-30T22:00:00.000000Z, the last moment that has a civil time at every offset.
const MICROS_MAX: u64 = 253_402_207_200_000_000;

impl Timestamp {
    /// A moment by its microseconds; later ones than 9999-12-30T22:00:00Z become that.
    pub fn from_micros(micros: u64) -> Self {
        Self(micros.min(MICROS_MAX))
    }

    /// Microseconds since 1970.
    pub fn as_micros(self) -> u64 {
        self.0
    }

    /// Whole seconds since 1970.
    pub fn as_secs(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Reads RFC 3339 with any offset and up to nine digits of a second (rounded down); liberal, for
    /// what people and peers write. `None` if it is no moment between 1970 and 9999.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let moment: jiff::Timestamp = text.parse().ok()?;
        u64::try_from(moment.as_microsecond())
            .ok()
            .filter(|micros| *micros <= MICROS_MAX)
            .map(Self)
    }

    /// Reads the stored spelling and nothing else.
    fn parse_stored(text: &str) -> Result<Self, NotAnId> {
        let read = || {
            let bytes: &[u8; 27] = text.as_bytes().try_into().ok()?;
            let number = |from: usize, to: usize| {
                bytes
                    .get(from..to)?
                    .iter()
                    .try_fold(0_u32, |number, digit| {
                        digit
                            .is_ascii_digit()
                            .then(|| number * 10 + u32::from(digit - b'0'))
                    })
            };
            let marks = [
                (4, b'-'),
                (7, b'-'),
                (10, b'T'),
                (13, b':'),
                (16, b':'),
                (19, b'.'),
            ];
            let small = |number: u32| i8::try_from(number).ok();
            let year = i16::try_from(number(0, 4)?).ok()?;
            let date =
                civil::Date::new(year, small(number(5, 7)?)?, small(number(8, 10)?)?).ok()?;
            let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
            if hour > 23
                || minute > 59
                || second > 59
                || bytes.last() != Some(&b'Z')
                || marks.iter().any(|(at, mark)| bytes.get(*at) != Some(mark))
            {
                return None;
            }
            let days = u64::try_from(date.duration_since(EPOCH).as_hours() / 24).ok()?;
            let seconds = days * 86_400
                + u64::from(hour) * 3_600
                + u64::from(minute) * 60
                + u64::from(second);
            let micros = seconds * 1_000_000 + u64::from(number(20, 26)?);
            (micros <= MICROS_MAX).then_some(Self(micros))
        };
        read().ok_or_else(|| NotAnId::new("a time as the log writes it", text))
    }

    /// The stored spelling: `YYYY-MM-DDThh:mm:ss.ffffffZ`.
    pub(super) fn spell(self) -> [u8; 27] {
        let moment = i64::try_from(self.0)
            .ok()
            .and_then(|micros| jiff::Timestamp::from_microsecond(micros).ok())
            .unwrap_or_default();
        let civil = jiff::tz::Offset::UTC.to_datetime(moment);
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        let mut put = |from: usize, to: usize, mut number: u64| {
            for digit in text.get_mut(from..to).unwrap_or_default().iter_mut().rev() {
                *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
                number /= 10;
            }
        };
        put(0, 4, u64::from(civil.year().unsigned_abs()));
        put(5, 7, u64::from(civil.month().unsigned_abs()));
        put(8, 10, u64::from(civil.day().unsigned_abs()));
        put(11, 13, u64::from(civil.hour().unsigned_abs()));
        put(14, 16, u64::from(civil.minute().unsigned_abs()));
        put(17, 19, u64::from(civil.second().unsigned_abs()));
        put(20, 26, self.0 % 1_000_000);
        text
    }
}

const EPOCH: civil::Date = civil::date(1970, 1, 1);

impl fmt::Display for Timestamp {
    /// `YYYY-MM-DDThh:mm:ss.ffffffZ`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(std::str::from_utf8(&self.spell()).unwrap_or_default())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.spell()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, Self::parse_stored)
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn the_stored_spelling_has_six_digits_and_reads_back() {
        let moment = Timestamp::parse_rfc3339("2026-12-01T01:00:01.5+01:00").unwrap();

        assert_eq!(moment.to_string(), "2026-12-01T00:00:01.500000Z");
        assert_eq!(
            Timestamp::parse_stored("2026-12-01T00:00:01.500000Z"),
            Ok(moment)
        );
        for other in [
            "2026-12-01T00:00:01.5Z",
            "2026-13-01T00:00:01.500000Z",
            "2026-12-01T24:00:01.500000Z",
            "2026-12-01 00:00:01.500000Z",
            "2026-02-30T00:00:01.500000Z",
            "2026-12-01T00:00:01.50000éZ",
        ] {
            assert!(Timestamp::parse_stored(other).is_err(), "{other}");
        }
    }

    #[test]
    fn moments_outside_of_the_stored_range_are_refused_or_clamped() {
        assert_eq!(Timestamp::parse_rfc3339("1969-12-31T23:59:59Z"), None);
        assert_eq!(
            Timestamp::from_micros(u64::MAX).to_string(),
            "9999-12-30T22:00:00.000000Z"
        );
    }
}
