//! Where a host name leads: out into the world, into a private network or back to this machine.
//!
//! A card from a public host that names `0.0.0.0`, `localhost` or a container would send the call,
//! and with it credentials, to some other service near the caller (C005).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// The class of a host, judged by its text alone: no name is resolved here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostClass {
    /// `0.0.0.0` or `[::]`: an address to listen on, never one to call.
    Unspecified,
    /// This machine.
    Loopback,
    /// This network segment, and the metadata services of clouds.
    LinkLocal,
    /// A private network.
    Private,
    /// A name without dots, or under `.local` and `.internal`: means something only over there.
    LocalName,
    /// Everything else.
    Public,
}

impl fmt::Display for HostClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "an unspecified address",
            Self::Loopback => "a loopback host",
            Self::LinkLocal => "a link-local address",
            Self::Private => "a private address",
            Self::LocalName => "a local name",
            Self::Public => "a public host",
        })
    }
}

/// The class of a URL's host; `None` without a host.
pub fn class_of(url: &Url) -> Option<HostClass> {
    Some(match url.host()? {
        Host::Ipv4(address) => of_v4(address),
        Host::Ipv6(address) => of_v6(address),
        // Other schemes than http leave an address in text form.
        Host::Domain(name) => match name.parse::<IpAddr>() {
            Ok(IpAddr::V4(address)) => of_v4(address),
            Ok(IpAddr::V6(address)) => of_v6(address),
            Err(_) => of_name(name),
        },
    })
}

fn of_name(name: &str) -> HostClass {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let under = |suffix: &str| name.ends_with(suffix);
    if name == "localhost" || under(".localhost") {
        HostClass::Loopback
    } else if !name.contains('.') || under(".local") || under(".internal") || under(".home.arpa") {
        HostClass::LocalName
    } else {
        HostClass::Public
    }
}

fn of_v4(address: Ipv4Addr) -> HostClass {
    let [first, second, ..] = address.octets();
    let shared = first == 100 && (64..128).contains(&second);
    if first == 0 {
        HostClass::Unspecified
    } else if address.is_loopback() {
        HostClass::Loopback
    } else if address.is_link_local() {
        HostClass::LinkLocal
    } else if address.is_private() || shared {
        HostClass::Private
    } else {
        HostClass::Public
    }
}

fn of_v6(address: Ipv6Addr) -> HostClass {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return of_v4(mapped);
    }
    if address.is_unspecified() {
        HostClass::Unspecified
    } else if address.is_loopback() {
        HostClass::Loopback
    } else if address.is_unicast_link_local() {
        HostClass::LinkLocal
    } else if address.is_unique_local() {
        HostClass::Private
    } else {
        HostClass::Public
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_sorted_by_where_they_lead() {
        let cases = [
            ("http://0.0.0.0:8080/", HostClass::Unspecified),
            ("http://[::]:8080/invoke", HostClass::Unspecified),
            ("http://127.8.9.1/", HostClass::Loopback),
            ("http://2130706433/", HostClass::Loopback),
            ("http://0x7f.1/", HostClass::Loopback),
            ("http://[::1]/", HostClass::Loopback),
            ("http://[::ffff:127.0.0.1]/", HostClass::Loopback),
            ("http://LOCALHOST./", HostClass::Loopback),
            ("http://169.254.169.254/latest/", HostClass::LinkLocal),
            ("http://[fe80::1]/", HostClass::LinkLocal),
            ("http://10.1.2.3/", HostClass::Private),
            ("http://100.64.0.1/", HostClass::Private),
            ("http://[fd00::1]/", HostClass::Private),
            ("http://internal:9000/", HostClass::LocalName),
            ("http://host.docker.internal/", HostClass::LocalName),
            ("https://h.example/", HostClass::Public),
            ("https://8.8.8.8/", HostClass::Public),
        ];

        for (url, class) in cases {
            assert_eq!(class_of(&Url::parse(url).unwrap()), Some(class), "{url}");
        }
    }
}
