//! How long a fetched card may be used without asking again (RFC 9111, A2A 1.0 section 8.6).
//!
//! Times are Unix seconds and come from outside. A clock that steps back makes a card at most as
//! fresh as it was when it was fetched, never fresher.

use super::headers::Headers;

/// Lifetime of an answer that says nothing about it, in seconds.
pub const DEFAULT_LIFETIME_S: u64 = 300;

/// Longest lifetime that is believed: one day. A year-long `max-age` would outlive any agent.
pub const LIFETIME_MAX_S: u64 = 86_400;

/// What an answer says about its own reuse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caching {
    /// `no-store`: use it for this call and forget it.
    pub no_store: bool,
    /// Seconds from the fetch for which no question is needed; 0 with `no-cache`.
    pub lifetime_s: u64,
    /// Whether the lifetime is our default, since the answer says nothing.
    pub by_default: bool,
    /// The validator for `If-None-Match`, with quotes and `W/`.
    pub etag: Option<String>,
    /// The validator for `If-Modified-Since`, verbatim.
    pub last_modified: Option<String>,
}

/// Whether a stored answer may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Use it without asking.
    Fresh,
    /// Ask first, with the validators if there are any.
    Stale,
    /// It should not have been stored.
    NotStorable,
}

/// Reads the caching fields of an answer.
pub fn caching(headers: &Headers) -> Caching {
    let mut directives = Directives::default();
    for field in headers.all("cache-control") {
        directives.read(field);
    }
    let age = headers
        .get("age")
        .and_then(|age| age.parse::<u64>().ok())
        .unwrap_or(0);
    let stated = directives.max_age.or_else(|| expires(headers));
    let lifetime_s = if directives.no_cache {
        0
    } else {
        stated
            .unwrap_or(DEFAULT_LIFETIME_S)
            .saturating_sub(age)
            .min(LIFETIME_MAX_S)
    };
    let validator = |name: &str| {
        headers
            .get(name)
            .filter(|text| !text.is_empty() && text.len() <= 256)
            .map(str::to_owned)
    };
    Caching {
        no_store: directives.no_store,
        lifetime_s,
        by_default: stated.is_none() && !directives.no_cache,
        etag: validator("etag"),
        last_modified: validator("last-modified"),
    }
}

/// Whether the answer with these headers, fetched at `fetched_at`, may be used at `now`.
pub fn freshness(headers: &Headers, fetched_at: u64, now: u64) -> Freshness {
    caching(headers).at(fetched_at, now)
}

impl Caching {
    /// Whether the answer may be used at `now`.
    pub fn at(&self, fetched_at: u64, now: u64) -> Freshness {
        if self.no_store {
            Freshness::NotStorable
        } else if now >= fetched_at && now - fetched_at < self.lifetime_s {
            Freshness::Fresh
        } else {
            Freshness::Stale
        }
    }

    /// The Unix second until which the answer is fresh.
    pub fn fresh_until(&self, fetched_at: u64) -> u64 {
        fetched_at.saturating_add(self.lifetime_s)
    }

    /// The fields that ask whether a stored answer is still right.
    pub fn validators(&self) -> Vec<(&'static str, String)> {
        let etag = self.etag.clone().map(|etag| ("if-none-match", etag));
        let modified = self
            .last_modified
            .clone()
            .map(|date| ("if-modified-since", date));
        etag.into_iter().chain(modified).collect()
    }

    /// The caching after a 304: its own lifetime, and the old validators where it names none.
    #[must_use]
    pub fn revalidated(&self, headers_of_304: &Headers) -> Self {
        let mut new = caching(headers_of_304);
        // A 304 without lifetime extends what the answer said about itself.
        if new.by_default && !self.by_default {
            new.lifetime_s = self.lifetime_s;
            new.by_default = false;
        }
        new.etag = new.etag.or_else(|| self.etag.clone());
        new.last_modified = new.last_modified.or_else(|| self.last_modified.clone());
        new
    }
}

/// Lifetime by `Expires`. Without a `Date` to measure from only "already expired" can be believed.
fn expires(headers: &Headers) -> Option<u64> {
    let text = headers.get("expires")?;
    let Some(expires) = http_date(text) else {
        return Some(0);
    };
    headers
        .get("date")
        .and_then(http_date)
        .map(|date| expires.saturating_sub(date))
}

/// An HTTP date in Unix seconds.
pub(super) fn http_date(text: &str) -> Option<u64> {
    let time = httpdate::parse_http_date(text).ok()?;
    time.duration_since(std::time::UNIX_EPOCH)
        .ok()
        .map(|since| since.as_secs())
}

#[derive(Default)]
struct Directives {
    no_store: bool,
    no_cache: bool,
    max_age: Option<u64>,
}

impl Directives {
    fn read(&mut self, field: &str) {
        for directive in field.split(',') {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            match name.trim().to_ascii_lowercase().as_str() {
                "no-store" => self.no_store = true,
                "no-cache" => self.no_cache = true,
                "max-age" => {
                    let digits = value.trim().trim_matches('"');
                    // Unreadable is stale; of two values the shorter counts.
                    let seconds = digits.parse::<u64>().unwrap_or(0);
                    self.max_age = Some(self.max_age.map_or(seconds, |known| known.min(seconds)));
                }
                _ => {}
            }
        }
    }
}

/// Whether one forced refresh of the card is due: the interface came from a cached card, and it is
/// not there any more (C018). `refreshed` says that this call has had its refresh already.
pub fn refresh_due(cached: bool, refreshed: bool, refused: bool, status: Option<u16>) -> bool {
    cached && !refreshed && (refused || matches!(status, Some(404 | 410)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&str, &str)]) -> Headers {
        fields.iter().copied().collect()
    }

    #[test]
    fn lifetimes_follow_the_headers() {
        let date = ("date", "Mon, 30 Nov 2026 14:46:07 GMT");
        let cases: [(&[(&str, &str)], u64); 14] = [
            (&[], 300),
            (&[("cache-control", "max-age=2")], 2),
            (&[("cache-control", "public, Max-Age=\"60\"")], 60),
            (&[("cache-control", "max-age=60"), ("age", "45")], 15),
            (&[("cache-control", "max-age=60"), ("age", "90")], 0),
            (&[("cache-control", "no-cache, max-age=60")], 0),
            (&[("cache-control", "max-age=60, max-age=30")], 30),
            (&[("cache-control", "max-age=soon")], 0),
            (&[("cache-control", "max-age=31536000")], 86_400),
            (&[("cache-control", "private")], 300),
            (&[date, ("expires", "Mon, 30 Nov 2026 14:47:07 GMT")], 60),
            (&[("expires", "Mon, 30 Nov 2026 14:47:07 GMT")], 300),
            (&[("expires", "0")], 0),
            (
                &[
                    date,
                    ("expires", "Mon, 30 Nov 2026 14:47:07 GMT"),
                    ("cache-control", "max-age=5"),
                ],
                5,
            ),
        ];

        for (fields, lifetime) in cases {
            assert_eq!(caching(&headers(fields)).lifetime_s, lifetime, "{fields:?}");
        }
    }

    #[test]
    fn a_card_is_fresh_for_its_lifetime_and_stale_when_the_clock_steps_back() {
        let two = headers(&[("cache-control", "max-age=2"), ("etag", "\"v1\"")]);
        let never = headers(&[("cache-control", "no-store")]);

        assert_eq!(freshness(&two, 100, 101), Freshness::Fresh);
        assert_eq!(freshness(&two, 100, 102), Freshness::Stale);
        assert_eq!(freshness(&two, 100, 50), Freshness::Stale);
        assert_eq!(freshness(&never, 100, 100), Freshness::NotStorable);
        assert_eq!(
            caching(&two).validators(),
            [("if-none-match", "\"v1\"".to_owned())]
        );
    }

    #[test]
    fn a_304_extends_freshness_and_keeps_the_validators() {
        let first = caching(&headers(&[
            ("cache-control", "max-age=60"),
            ("etag", "\"v1\""),
        ]));

        let silent = first.revalidated(&headers(&[]));
        let speaking = first.revalidated(&headers(&[
            ("cache-control", "max-age=5"),
            ("etag", "\"v2\""),
        ]));

        assert_eq!(
            (silent.lifetime_s, silent.etag.as_deref()),
            (60, Some("\"v1\""))
        );
        assert_eq!(
            (speaking.lifetime_s, speaking.etag.as_deref()),
            (5, Some("\"v2\""))
        );
    }

    #[test]
    fn a_card_that_lost_its_interface_is_refreshed_exactly_once() {
        assert!(refresh_due(true, false, true, None));
        assert!(refresh_due(true, false, false, Some(404)));
        assert!(!refresh_due(true, true, true, None));
        assert!(!refresh_due(false, false, true, None));
        assert!(!refresh_due(true, false, false, Some(500)));
    }
}
