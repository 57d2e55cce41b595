//! Whether anybody listens at an address.
//!
//! A connection is opened and closed again: not one byte is sent and none is read, so that nothing of it
//! has to be on record. It says nothing about what would answer there.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::{Host, Url};

/// How many addresses are knocked at at once.
const AT_ONCE_MAX: usize = 64;

/// Why nobody is known to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// The address has no host or no port.
    NoPlace,
    /// The name does not resolve.
    Dns,
    /// Nobody listens there, or no way leads there; the system's words.
    Closed(String),
    /// No connection in time.
    Late(Duration),
    /// The time for all of them was up before.
    NotTried,
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPlace => f.write_str("the address names no port"),
            Self::Dns => f.write_str("the name does not resolve"),
            Self::Closed(why) => f.write_str(why),
            Self::Late(limit) => write!(f, "no connection within {} ms", limit.as_millis()),
            Self::NotTried => f.write_str("the time for all agents was up before it was tried"),
        }
    }
}

/// Knocks at every address, with a limit for each and one for all; the answers are in the same order.
pub async fn knock(urls: &[Url], each: Duration, all: Duration) -> Vec<Result<(), Silence>> {
    let doors = Arc::new(Semaphore::new(AT_ONCE_MAX));
    let mut knocks = JoinSet::new();
    for (index, url) in urls.iter().cloned().enumerate() {
        let doors = Arc::clone(&doors);
        knocks.spawn(async move {
            let _place = doors.acquire_owned().await;
            let heard = timeout(each, connect(&url)).await;
            (index, heard.unwrap_or(Err(Silence::Late(each))))
        });
    }
    let mut heard = vec![Err(Silence::NotTried); urls.len()];
    let gather = async {
        while let Some(joined) = knocks.join_next().await {
            let Ok((index, answer)) = joined else {
                continue;
            };
            if let Some(place) = heard.get_mut(index) {
                *place = answer;
            }
        }
    };
    // What is late stays "not tried"; the knocks that are under way end with their set.
    timeout(all, gather).await.ok();
    heard
}

async fn connect(url: &Url) -> Result<(), Silence> {
    let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
        return Err(Silence::NoPlace);
    };
    let places: Vec<_> = match host {
        Host::Ipv4(ip) => vec![(ip, port).into()],
        Host::Ipv6(ip) => vec![(ip, port).into()],
        Host::Domain(name) => resolve(name.to_owned(), port).await?,
    };
    let opened = TcpStream::connect(places.as_slice()).await;
    opened
        .map(drop)
        .map_err(|error| Silence::Closed(words(&error)))
}

/// On a thread of its own, which the end of the program does not wait for: a resolver may think for long.
async fn resolve(name: String, port: u16) -> Result<Vec<SocketAddr>, Silence> {
    let (tell, told) = oneshot::channel();
    let asking = move || {
        let found = (name.as_str(), port).to_socket_addrs();
        // Nobody listens any more if the time was up.
        tell.send(found.map(Iterator::collect)).ok();
    };
    let thread = std::thread::Builder::new().name("resolver".to_owned());
    thread.spawn(asking).map_err(|_| Silence::NotTried)?;
    let found: io::Result<Vec<SocketAddr>> = told.await.map_err(|_| Silence::Dns)?;
    found.map_err(|_| Silence::Dns)
}

/// The system's words without its number.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use missive_fixtures::{ScriptedPeer, refused_url};

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[tokio::test]
    async fn it_is_told_who_listens_without_a_byte_being_sent() {
        let peer = ScriptedPeer::start();
        let urls = [url(&peer.url()), url(&refused_url())];

        let heard = knock(&urls, Duration::from_secs(5), Duration::from_secs(10)).await;

        peer.wait_for_connections(1);
        assert_eq!(heard[0], Ok(()));
        assert_eq!(
            heard[1],
            Err(Silence::Closed("connection refused".to_owned()))
        );
        assert!(peer.requests().is_empty() && peer.malformed().is_empty());
    }

    #[tokio::test]
    async fn a_name_that_does_not_resolve_is_told_as_such() {
        let minute = Duration::from_secs(60);

        let heard = knock(&[url("http://nobody.invalid/")], minute, minute).await;

        assert_eq!(heard, [Err(Silence::Dns)]);
    }
}
