//! Which redirects are followed.
//!
//! A redirect is an order from a stranger. By default it is followed within the origin only and five
//! times at most; a message is never turned into a GET, never repeated to another origin, and
//! credentials never go to another origin. Nothing leads from a public host into a private network
//! (C017).

use url::Url;

use super::reach::RefusedRedirect;
use crate::wire::host::{HostClass, class_of};
use crate::wire::request::Verb;

/// What is allowed.
#[derive(Clone, Copy, Debug)]
pub struct RedirectRules {
    /// Most redirects of one call.
    pub hops_max: usize,
    /// Follow a GET to another origin, without credentials.
    pub cross_origin: bool,
}

impl Default for RedirectRules {
    fn default() -> Self {
        Self {
            hops_max: 5,
            cross_origin: false,
        }
    }
}

/// What to do with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The answer is no redirect.
    Final,
    /// Ask again there, with the same method and body.
    Follow {
        /// Where.
        to: Url,
        /// Whether credentials stay behind.
        without_secrets: bool,
    },
    /// The answer stays the last word.
    Refuse(RefusedRedirect),
}

/// Judges an answer with `status` and a `Location` to a request that went to `from`, after `hops`
/// redirects.
pub fn judge(
    status: u16,
    location: Option<&str>,
    verb: Verb,
    from: &Url,
    hops: usize,
    rules: &RedirectRules,
) -> Verdict {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return Verdict::Final;
    }
    let refuse = |to: String, why| Verdict::Refuse(RefusedRedirect { to, why });
    let Some(to) = location.and_then(|location| from.join(location).ok()) else {
        return refuse("nowhere".to_owned(), "it names no usable address");
    };
    let cross_origin = to.origin() != from.origin();
    let why = if !matches!(to.scheme(), "http" | "https") {
        Some("it is neither http nor https")
    } else if !to.username().is_empty() || to.password().is_some() {
        Some("it holds credentials")
    } else if hops >= rules.hops_max {
        Some("there were too many already")
    } else if verb != Verb::Get && !matches!(status, 307 | 308) {
        Some("it would turn the message into a GET")
    } else if cross_origin && !rules.cross_origin {
        Some("it leads to another origin")
    } else if cross_origin && verb != Verb::Get {
        Some("a message is not repeated to another origin")
    } else if cross_origin && leads_inside(from, &to) {
        Some("it leads from a public host into a private network")
    } else {
        None
    };
    match why {
        Some(why) => refuse(shown(&to), why),
        None => Verdict::Follow {
            to: without_fragment(to),
            without_secrets: cross_origin,
        },
    }
}

fn leads_inside(from: &Url, to: &Url) -> bool {
    let class = class_of(to);
    class != Some(HostClass::Public) && class != class_of(from)
}

fn without_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}

/// Without what may hold a secret.
/// An address for messages: without query, fragment and credentials, which may be secrets.
pub(super) fn shown(url: &Url) -> String {
    let mut url = without_fragment(url.clone());
    url.set_query(None);
    // Only URLs without a host refuse this, and those have no credentials.
    let _cleared = url
        .set_username("")
        .and_then(|()| url.set_password(None))
        .is_ok();
    crate::wire::text::excerpt(url.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: &str = "https://h.example/a/b?q=1";

    fn ask(status: u16, location: &str, verb: Verb, cross_origin: bool) -> Verdict {
        let rules = RedirectRules {
            cross_origin,
            ..RedirectRules::default()
        };
        judge(
            status,
            Some(location),
            verb,
            &Url::parse(FROM).unwrap(),
            0,
            &rules,
        )
    }

    fn refused(status: u16, location: &str, verb: Verb, cross_origin: bool) -> String {
        match ask(status, location, verb, cross_origin) {
            Verdict::Refuse(refused) => refused.to_string(),
            other @ (Verdict::Final | Verdict::Follow { .. }) => format!("{other:?}"),
        }
    }

    #[test]
    fn within_the_origin_a_redirect_is_followed() {
        let to = |url: &str| Verdict::Follow {
            to: Url::parse(url).unwrap(),
            without_secrets: false,
        };

        assert_eq!(
            ask(302, "/c#f", Verb::Get, false),
            to("https://h.example/c")
        );
        assert_eq!(
            ask(308, "c?x=1", Verb::Post, false),
            to("https://h.example/a/c?x=1")
        );
        assert_eq!(
            ask(301, "https://h.example:443/", Verb::Get, false),
            to("https://h.example/")
        );
        assert_eq!(ask(304, "/c", Verb::Get, false), Verdict::Final);
    }

    /// Status, location, method, whether other origins are allowed, what is said.
    const REFUSED: [(u16, &str, Verb, bool, &str); 9] = [
        (
            302,
            "/c",
            Verb::Post,
            false,
            "https://h.example/c is not followed: it would turn the message into a GET",
        ),
        (
            303,
            "/c",
            Verb::Post,
            true,
            "https://h.example/c is not followed: it would turn the message into a GET",
        ),
        (
            302,
            "http://h.example/",
            Verb::Get,
            false,
            "http://h.example/ is not followed: it leads to another origin",
        ),
        (
            307,
            "//o.example/x?t=s",
            Verb::Get,
            false,
            "https://o.example/x is not followed: it leads to another origin",
        ),
        (
            307,
            "//o.example/x",
            Verb::Post,
            true,
            "https://o.example/x is not followed: a message is not repeated to another origin",
        ),
        (
            302,
            "http://169.254.169.254/latest/",
            Verb::Get,
            true,
            "http://169.254.169.254/latest/ is not followed: it leads from a public host into a private network",
        ),
        (
            302,
            "http://u:p@h.example/",
            Verb::Get,
            true,
            "http://h.example/ is not followed: it holds credentials",
        ),
        (
            302,
            "file:///etc/passwd",
            Verb::Get,
            true,
            "file:///etc/passwd is not followed: it is neither http nor https",
        ),
        (
            302,
            "http://[",
            Verb::Get,
            true,
            "nowhere is not followed: it names no usable address",
        ),
    ];

    #[test]
    fn what_is_not_followed_says_which_rule() {
        for (status, location, verb, cross, message) in REFUSED {
            assert_eq!(
                refused(status, location, verb, cross),
                format!("the redirect to {message}")
            );
        }
    }

    #[test]
    fn credentials_stay_behind_when_a_get_may_leave_the_origin() {
        let followed = ask(302, "https://o.example/x", Verb::Get, true);

        assert!(matches!(
            followed,
            Verdict::Follow {
                without_secrets: true,
                ..
            }
        ));
    }

    #[test]
    fn redirects_end() {
        let from = Url::parse(FROM).unwrap();

        let verdict = judge(
            302,
            Some("/c"),
            Verb::Get,
            &from,
            5,
            &RedirectRules::default(),
        );

        assert!(matches!(verdict, Verdict::Refuse(_)));
    }
}
