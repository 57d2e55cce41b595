//! Which interface a call goes to, and why not to the others.
//!
//! Precedence: what the user registered for a binding, then the card's entries in the user's order
//! of bindings or else the card's own (A2A 1.0, section 8.3.2), then, without a card, the base
//! address under a binding that the user named. An interface on a host of another class than the
//! card's is refused unless the user says otherwise (C005).

use url::Url;

use super::card::{Card, Interface};
use super::host::{HostClass, class_of};
use super::text::excerpt;
use super::version::{Binding, SPOKEN, Version};

/// How many addresses of one agent an error names.
const URLS_MAX: usize = 3;

/// What the user wants, apart from what the card offers.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// Registered addresses by binding (`--interface`): they win over the card.
    pub overrides: Vec<(Binding, Url)>,
    /// Bindings in the user's order (`--binding-preference`); others follow in the card's order.
    pub preference: Vec<Binding>,
    /// Only this binding (`--binding`).
    pub only: Option<Binding>,
    /// Only this version (`--protocol-version`).
    pub version: Option<Version>,
    /// Take interfaces on hosts of another class than the card's.
    pub allow_any_host: bool,
}

/// Where a choice came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The user registered the address.
    Override,
    /// The card's entry.
    Card,
    /// The base address, since there is no card.
    Direct,
}

impl Source {
    /// The name in outputs and facts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Card => "card",
            Self::Direct => "direct",
        }
    }
}

/// The interface that calls go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// How to speak.
    pub binding: Binding,
    /// Where, exactly as declared. It parses as an absolute http or https URL.
    pub url: String,
    /// What to speak.
    pub protocol_version: Version,
    /// The value to repeat in every request, if the entry has one.
    pub tenant: Option<String>,
    /// Where the choice came from.
    pub source: Source,
    /// Why this one, in words.
    pub reason: String,
    /// Whether the host differs from the card's: worth a warning before credentials go there.
    pub foreign_host: bool,
}

/// One interface that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Considered {
    /// The address, verbatim.
    pub url: String,
    /// The binding, verbatim.
    pub binding: String,
    /// The version, verbatim.
    pub protocol_version: Option<String>,
    /// Where it came from.
    pub source: Source,
    /// `None` for the chosen one, else why not.
    pub refused: Option<String>,
    /// Whether the entry itself is defective, so that the agent's owner should be told.
    pub defect: bool,
}

/// A choice, with what else there was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// The interface to call.
    pub choice: Choice,
    /// Every interface in the order of consideration, the chosen one included.
    pub considered: Vec<Considered>,
}

/// No interface can be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoChoice {
    /// Every entry has a reason against it; the reason of the first is quoted.
    #[error("no interface of the agent can be used: {first}")]
    NothingFits {
        /// Why not the first.
        first: String,
        /// Why not each of them.
        considered: Vec<Considered>,
    },
    /// Entries exist for older versions only.
    #[error("the agent offers only A2A {offered}, and missive speaks 1.0")]
    OnlyOldVersions {
        /// The versions, joined by commas.
        offered: String,
        /// Why not each of them.
        considered: Vec<Considered>,
    },
    /// The fitting entry leads elsewhere than the card.
    #[error(
        "the card came from {card_host}, and its interface {url} is on {interface_host}, {class}"
    )]
    WrongHost {
        /// The host that served the card.
        card_host: String,
        /// The interface, verbatim.
        url: String,
        /// Its host.
        interface_host: String,
        /// The class of that host.
        class: HostClass,
        /// Why not each of them.
        considered: Vec<Considered>,
    },
    /// The version that the user asked for is not spoken.
    #[error("A2A {version} is not spoken here")]
    NotSpoken {
        /// The version.
        version: Version,
    },
    /// No card, no registered interface, no binding to guess with.
    #[error("there is no card and no registered interface")]
    Nothing,
}

/// Chooses an interface. `base` is the address that the agent was registered with, `card` the card
/// and the URL that it came from.
///
/// # Errors
/// See [`NoChoice`].
pub fn choose(
    base: &Url,
    card: Option<(&Card, &Url)>,
    wishes: &Wishes,
) -> Result<Negotiated, NoChoice> {
    let version = wishes.version.unwrap_or(SPOKEN[0]);
    if !version.is_spoken() {
        return Err(NoChoice::NotSpoken { version });
    }
    let mut found = Found::default();
    for (binding, url) in ordered(&wishes.overrides, wishes, |(binding, _)| Some(*binding)) {
        found.offer(Candidate::registered(*binding, url, version), wishes);
    }
    if let Some((card, from)) = card {
        for entry in ordered(&card.interfaces, wishes, |entry| {
            Binding::from_card(&entry.binding)
        }) {
            found.offer(Candidate::from_card(entry, from, version, wishes), wishes);
        }
    } else if let Some(binding) = wishes.only.or(wishes.preference.first().copied()) {
        found.offer(Candidate::guessed(binding, base, version), wishes);
    }
    found.finish()
}

/// Where a card that came from `from` is broken, in words that quote it: members first, then entries that
/// no caller could use as they are. Whatever the user wishes, its owner should hear of these.
pub fn defects(card: &Card, from: &Url) -> Vec<String> {
    let members = card.odd.as_slice().iter().map(ToString::to_string);
    let entries = card
        .interfaces
        .iter()
        .enumerate()
        .filter_map(|(at, entry)| {
            let why = match judge(entry, from, SPOKEN[0], &Wishes::default()) {
                Err(No::Defect(why)) => why,
                Err(No::Host {
                    card_host,
                    interface_host,
                    class,
                }) => elsewhere(&card_host, &interface_host, class),
                Err(No::Unsuitable(_) | No::OldVersion(_)) | Ok(_) => return None,
            };
            Some(format!("interface {}: {why}", at + 1))
        });
    members.chain(entries).collect()
}

fn elsewhere(card_host: &str, interface_host: &str, class: HostClass) -> String {
    format!("{interface_host} is {class}, and the card came from {card_host}")
}

/// Stable order by the user's preference; what the user did not name keeps its order, behind.
fn ordered<'a, T>(
    all: &'a [T],
    wishes: &Wishes,
    binding: impl Fn(&T) -> Option<Binding>,
) -> Vec<&'a T> {
    let place = |item: &&T| {
        binding(item)
            .and_then(|binding| {
                wishes
                    .preference
                    .iter()
                    .position(|wanted| *wanted == binding)
            })
            .unwrap_or(usize::MAX)
    };
    let mut sorted: Vec<&T> = all.iter().collect();
    sorted.sort_by_key(place);
    sorted
}

/// Why an entry is not taken.
enum No {
    /// The entry is fine, missive or the user is not.
    Unsuitable(String),
    /// The entry is broken.
    Defect(String),
    /// The entry fits, and is for another version.
    OldVersion(Version),
    /// The entry fits, and leads elsewhere.
    Host {
        card_host: String,
        interface_host: String,
        class: HostClass,
    },
}

struct Candidate {
    row: Considered,
    verdict: Result<Choice, No>,
}

impl Candidate {
    fn registered(binding: Binding, url: &Url, version: Version) -> Self {
        let reason = format!("registered for {} by the user", binding.name());
        Self::plain(binding, url, version, Source::Override, reason)
    }

    fn guessed(binding: Binding, base: &Url, version: Version) -> Self {
        let reason = format!(
            "there is no card: the base URL is taken to speak {}",
            binding.name()
        );
        Self::plain(binding, base, version, Source::Direct, reason)
    }

    fn plain(
        binding: Binding,
        url: &Url,
        version: Version,
        source: Source,
        reason: String,
    ) -> Self {
        let row = Considered {
            url: url.to_string(),
            binding: binding.card_name().to_owned(),
            protocol_version: Some(version.to_string()),
            source,
            refused: None,
            defect: false,
        };
        let verdict = check_binding(binding.card_name()).and_then(|binding| {
            check_url(url.as_str())?;
            Ok(Choice {
                binding,
                url: url.to_string(),
                protocol_version: version,
                tenant: None,
                source,
                reason,
                foreign_host: false,
            })
        });
        Self { row, verdict }
    }

    fn from_card(entry: &Interface, from: &Url, version: Version, wishes: &Wishes) -> Self {
        let row = Considered {
            url: entry.url.clone(),
            binding: entry.binding.clone(),
            protocol_version: entry.protocol_version.clone(),
            source: Source::Card,
            refused: None,
            defect: false,
        };
        Self {
            row,
            verdict: judge(entry, from, version, wishes),
        }
    }
}

fn judge(entry: &Interface, from: &Url, wanted: Version, wishes: &Wishes) -> Result<Choice, No> {
    let binding = check_binding(&entry.binding)?;
    let declared = entry
        .protocol_version
        .as_deref()
        .ok_or_else(|| No::Defect("the entry has no protocolVersion".to_owned()))?;
    let version = Version::parse(declared)
        .ok_or_else(|| No::Defect(format!("`{}` is no protocol version", excerpt(declared))))?;
    if version != wanted {
        return Err(No::OldVersion(version));
    }
    let url = check_url(&entry.url)?;
    if !wishes.allow_any_host {
        check_host(&url, from)?;
    }
    let preferred = wishes.preference.contains(&binding) || wishes.only.is_some();
    let order = if preferred {
        "the user's order of bindings"
    } else {
        "the card's order"
    };
    Ok(Choice {
        binding,
        url: entry.url.clone(),
        protocol_version: version,
        tenant: entry.tenant.clone(),
        source: Source::Card,
        reason: format!("first entry that missive speaks, in {order}"),
        foreign_host: url.host_str() != from.host_str(),
    })
}

fn check_binding(name: &str) -> Result<Binding, No> {
    match Binding::from_card(name) {
        Some(Binding::Grpc) => Err(No::Unsuitable("gRPC is not spoken yet".to_owned())),
        Some(binding) => Ok(binding),
        None => Err(match Binding::near_miss(name) {
            Some(meant) => No::Defect(format!(
                "`{}` is no binding name; `{}` is probably meant",
                excerpt(name),
                meant.card_name()
            )),
            None => No::Unsuitable(format!(
                "missive does not know the binding `{}`",
                excerpt(name)
            )),
        }),
    }
}

fn check_url(text: &str) -> Result<Url, No> {
    let defect = |why: &str| No::Defect(format!("the url `{}` {why}", excerpt(text)));
    let url = Url::parse(text).map_err(|_| defect("is not absolute"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(defect("is neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // Not quoted: the text holds a credential.
        return Err(No::Defect("the url holds credentials".to_owned()));
    }
    Ok(url)
}

fn check_host(url: &Url, from: &Url) -> Result<(), No> {
    let name = |url: &Url| url.host_str().unwrap_or_default().to_owned();
    let (Some(class), Some(card_class)) = (class_of(url), class_of(from)) else {
        return Err(No::Defect("the url has no host".to_owned()));
    };
    if class == HostClass::Public || (class == card_class && class != HostClass::Unspecified) {
        return Ok(());
    }
    Err(No::Host {
        card_host: name(from),
        interface_host: name(url),
        class,
    })
}

#[derive(Default)]
struct Found {
    choice: Option<Choice>,
    considered: Vec<Considered>,
    old: Vec<Version>,
    other_reasons: bool,
    host: Option<(String, String, String, HostClass)>,
}

impl Found {
    fn offer(&mut self, candidate: Candidate, wishes: &Wishes) {
        let Candidate { mut row, verdict } = candidate;
        let verdict = verdict.and_then(|choice| match wishes.only {
            Some(only) if only != choice.binding => Err(No::Unsuitable(format!(
                "only {} was asked for",
                only.name()
            ))),
            Some(_) | None => Ok(choice),
        });
        match verdict {
            Ok(choice) if self.choice.is_none() => self.choice = Some(choice),
            Ok(_) => row.refused = Some("another one comes first".to_owned()),
            Err(no) => self.refuse(&mut row, no),
        }
        self.considered.push(row);
    }

    fn refuse(&mut self, row: &mut Considered, no: No) {
        row.refused = Some(match no {
            No::Unsuitable(why) => {
                self.other_reasons = true;
                why
            }
            No::Defect(why) => {
                self.other_reasons = true;
                row.defect = true;
                why
            }
            No::OldVersion(version) => {
                self.old.push(version);
                format!("it speaks A2A {version}")
            }
            No::Host {
                card_host,
                interface_host,
                class,
            } => {
                row.defect = true;
                let why = elsewhere(&card_host, &interface_host, class);
                self.host
                    .get_or_insert((card_host, row.url.clone(), interface_host, class));
                why
            }
        });
    }

    fn finish(self) -> Result<Negotiated, NoChoice> {
        let Self {
            choice,
            considered,
            old,
            other_reasons,
            host,
        } = self;
        if let Some(choice) = choice {
            return Ok(Negotiated { choice, considered });
        }
        if let Some((card_host, url, interface_host, class)) = host {
            return Err(NoChoice::WrongHost {
                card_host,
                url,
                interface_host,
                class,
                considered,
            });
        }
        if !old.is_empty() && !other_reasons {
            let mut offered: Vec<String> = old.iter().map(Version::to_string).collect();
            offered.dedup();
            return Err(NoChoice::OnlyOldVersions {
                offered: offered.join(", "),
                considered,
            });
        }
        if let Some(urls) = only_grpc(&considered) {
            let first = format!("it offers only gRPC ({urls}), which is not spoken yet");
            return Err(NoChoice::NothingFits { first, considered });
        }
        match considered.iter().find_map(|row| row.refused.clone()) {
            Some(first) => Err(NoChoice::NothingFits { first, considered }),
            None => Err(NoChoice::Nothing),
        }
    }
}

/// Where an agent listens that speaks nothing but gRPC.
fn only_grpc(considered: &[Considered]) -> Option<String> {
    let grpc = |row: &&Considered| Binding::from_card(&row.binding) == Some(Binding::Grpc);
    if considered.is_empty() || !considered.iter().all(|row| grpc(&row)) {
        return None;
    }
    // No credentials and no query: such an address is not shown whole.
    let urls = considered.iter().map(|row| {
        let place = row.url.rsplit('@').next().unwrap_or_default();
        excerpt(place.split('?').next().unwrap_or_default())
    });
    let urls: Vec<String> = urls.take(URLS_MAX).collect();
    Some(urls.join(", "))
}

#[cfg(test)]
#[path = "negotiate_tests.rs"]
mod tests;
