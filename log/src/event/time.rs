//! Wall-clock moments, to the microsecond, in the one stored spelling.

use jiff::civil;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
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
    fn parse_stored(text: &str) -> Option<Self> {
        let parsed = Self::parse_rfc3339(text)?;
        (text.len() == 27 && parsed.to_string() == text).then_some(parsed)
    }
}

impl fmt::Display for Timestamp {
    /// `YYYY-MM-DDThh:mm:ss.ffffffZ`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = i64::try_from(self.0)
            .ok()
            .and_then(|m| jiff::Timestamp::from_microsecond(m).ok());
        let civil: civil::DateTime = match moment {
            Some(moment) => jiff::tz::Offset::UTC.to_datetime(moment),
            None => civil::DateTime::default(),
        };
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
            civil.year(),
            civil.month(),
            civil.day(),
            civil.hour(),
            civil.minute(),
            civil.second(),
            self.0 % 1_000_000
        )
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse_stored(&text)
            .ok_or_else(|| de::Error::custom("not a time as the log writes it"))
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
            Some(moment)
        );
        assert_eq!(Timestamp::parse_stored("2026-12-01T00:00:01.5Z"), None);
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
