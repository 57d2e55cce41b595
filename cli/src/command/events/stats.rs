//! `missive events stats`: how much of what.

use super::super::{Setting, moment, no_log, seconds, warn_of_fault};
use super::chosen::{Chosen, Indexed, typed};
use super::list::tell_unreadable;
use crate::args::events::Filter as Args;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output, Page, Report};
use missive_commands::Exit;
use missive_log::Head;
use missive_log::Log as _;
use missive_log::event::{Alias, Event, Seq, Subject};
use missive_projections::{Filter, KindPattern, SELECT_MAX, Scope, Views, ViewsError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) async fn run(
    filter: &Args,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = setting.home.read().await?.ok_or_else(no_log)?;
    session
        .used(async |session| stats(filter, setting, session, output).await)
        .await
}

async fn stats(
    filter: &Args,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    // Of a damaged log nothing is asked but what can be read.
    let views = match setting.globals.at {
        Some(_) => Some(moment::views(setting, session, &Scope::Registry, output)?),
        None => None,
    };
    moment::tell(setting, session, output).await;
    let progress = output.progress("counting");
    let counts = if typed(filter).is_empty() {
        all(setting, session, views.as_ref()).await?
    } else {
        some(filter, setting, session, views.as_ref(), output).await?
    };
    drop(progress);
    let profile = &setting.home.profile;
    let head = match &views {
        Some(views) => head_at(session, views.least()).await?,
        None => Some(session.head().to_string()),
    };
    let report = Stats {
        count: counts.count,
        first: counts.first,
        last: counts.last,
        types: rows(counts.kinds, |kind, count| TypeCount { kind, count }),
        agents: rows(counts.agents, |agent, count| AgentCount { agent, count }),
        bytes: views.is_none().then(|| Bytes {
            log: size(&profile.log()),
            views: size(&profile.views()),
        }),
        head,
    };
    output.report(&report).await?;
    Ok(Exit::Done)
}

/// The head that the log had then.
async fn head_at(session: &Session, place: Seq) -> Result<Option<String>, Failure> {
    let records = session.log().pick(&[place]).await;
    let records = records.map_err(|error| session.read_failure(error))?;
    Ok(records.first().map(|record| {
        let head = Head {
            log: session.head().log,
            seq: record.seq,
            link: record.link,
        };
        head.to_string()
    }))
}

/// Counts every event from the indexes.
async fn all(
    setting: &Setting<'_>,
    session: &Session,
    past: Option<&Views>,
) -> Result<Counts, Failure> {
    let mut counts = Counts::default();
    let live = session
        .views()
        .map_err(|error| session.views_failure(&error))?;
    let views = past.unwrap_or(&live);
    let seeds = setting
        .config
        .agents
        .keys()
        .filter_map(|alias| alias.parse().ok());
    let removed = removed(session, views).await?;
    let others: Vec<Alias> = seeds.chain(removed).collect();
    let counted = counts.add_all(views, &others);
    counted.map_err(|error| session.views_failure(&error))?;
    let last = past.map_or(session.head().seq, Views::least);
    for place in [Seq(1), last] {
        let records = session.log().pick(&[place]).await;
        let records = records.map_err(|error| session.read_failure(error))?;
        if let Some(event) = records.first().and_then(|record| record.decode().ok()) {
            counts.frame(&event);
        }
    }
    Ok(counts)
}

/// Counts the events that a filter means, reading each.
async fn some(
    filter: &Args,
    setting: &Setting<'_>,
    session: &Session,
    past: Option<&Views>,
    output: &Output,
) -> Result<Counts, Failure> {
    let mut counts = Counts::default();
    let mut chosen = Chosen::of(session, setting, filter, past, false).await?;
    // Of a damaged log the aliases are those of their time.
    let views = past.cloned().or_else(|| session.views().ok());
    let present = |alias: &Alias| match (&filter.agent, &views) {
        (Some(asked), _) => asked.to_string(),
        (None, Some(views)) => views
            .present_alias(alias)
            .as_ref()
            .unwrap_or(alias)
            .to_string(),
        (None, None) => alias.to_string(),
    };
    loop {
        let records = chosen.page().await?;
        if records.is_empty() {
            break;
        }
        for record in &records {
            match record.decode() {
                Ok(event) => counts.add(&event, &present),
                Err(_) => chosen.unreadable += 1,
            }
        }
    }
    tell_unreadable(chosen.unreadable, output);
    Ok(counts)
}

/// Agents that were removed at some time.
async fn removed(session: &Session, views: &Views) -> Result<Vec<Alias>, Failure> {
    let filter = Filter {
        kinds: vec![KindPattern::new("missive.agent.removed")],
        ..Filter::default()
    };
    let places = Indexed::new(views.clone(), filter).page(SELECT_MAX);
    let places = places.map_err(|error| session.views_failure(&error))?;
    let records = session.log().pick(&places).await;
    let records = records.map_err(|error| session.read_failure(error))?;
    let events = records.iter().filter_map(|record| record.decode().ok());
    Ok(events
        .filter_map(|event| match event.subject {
            Some(Subject::Agent(alias)) => Some(alias),
            Some(_) | None => None,
        })
        .collect())
}

#[derive(Default)]
struct Counts {
    count: u64,
    first: Option<Place>,
    last: Option<Place>,
    kinds: BTreeMap<String, u64>,
    agents: BTreeMap<String, u64>,
}

impl Counts {
    /// Agents are counted under the alias that they have now.
    fn add(&mut self, event: &Event, present: &dyn Fn(&Alias) -> String) {
        self.count += 1;
        *self.kinds.entry(event.kind.name().to_owned()).or_default() += 1;
        if let Some(agent) = &event.links.agent {
            *self.agents.entry(present(agent)).or_default() += 1;
        }
        self.frame(event);
    }

    fn frame(&mut self, event: &Event) {
        let place = Place {
            sequence: event.seq,
            timestamp: event.at.to_string(),
        };
        self.first.get_or_insert_with(|| place.clone());
        self.last = Some(place);
    }

    /// All events at once. Agents are counted with what they did under former aliases, and `others` where
    /// anything is known of them.
    fn add_all(&mut self, views: &Views, others: &[Alias]) -> Result<(), ViewsError> {
        for (kind, count) in views.kinds()? {
            self.count += count;
            self.kinds.insert(kind, count);
        }
        let registered = views.agents()?.into_iter().map(|agent| agent.alias);
        for alias in registered.chain(others.iter().cloned()) {
            if self.agents.contains_key(alias.as_str()) {
                continue;
            }
            let filter = Filter {
                agent: Some(alias.clone()),
                ..Filter::default()
            };
            let mut places = Indexed::new(views.clone(), filter);
            let mut count = 0;
            loop {
                let page = places.page(SELECT_MAX)?;
                if page.is_empty() {
                    break;
                }
                count += page.len() as u64;
            }
            if count > 0 {
                self.agents.insert(alias.to_string(), count);
            }
        }
        Ok(())
    }
}

/// The largest first.
fn rows<T>(counts: BTreeMap<String, u64>, row: impl Fn(String, u64) -> T) -> Vec<T> {
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
    counts
        .into_iter()
        .map(|(name, count)| row(name, count))
        .collect()
}

/// What the files of a folder hold, in bytes. Files come and go while it is read: those are passed over.
fn size(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// `events_stats`.
#[derive(Serialize)]
struct Stats {
    count: u64,
    first: Option<Place>,
    last: Option<Place>,
    types: Vec<TypeCount>,
    agents: Vec<AgentCount>,
    /// What the files hold now; nobody knows what they held at an earlier moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<Bytes>,
    head: Option<String>,
}

#[derive(Clone, Serialize)]
struct Place {
    sequence: Seq,
    timestamp: String,
}

#[derive(Serialize)]
struct TypeCount {
    #[serde(rename = "type")]
    kind: String,
    count: u64,
}

#[derive(Serialize)]
struct AgentCount {
    agent: String,
    count: u64,
}

#[derive(Serialize)]
struct Bytes {
    log: u64,
    views: u64,
}

impl Report for Stats {
    fn kind(&self) -> Kind {
        Kind::EventsStats
    }

    fn human(&self, page: &mut Page) {
        let place = |place: &Option<Place>| match place {
            Some(place) => format!("{} at {}", place.sequence, seconds(&place.timestamp)),
            None => String::new(),
        };
        let size = |of: fn(&Bytes) -> u64| {
            let bytes = self.bytes.as_ref();
            bytes.map_or_else(String::new, |bytes| {
                format!("{} KiB", of(bytes).div_ceil(1_024))
            })
        };
        page.fields(&[
            ("events", &self.count.to_string()),
            ("first", &place(&self.first)),
            ("last", &place(&self.last)),
            ("log", &size(|bytes| bytes.log)),
            ("views", &size(|bytes| bytes.views)),
        ]);
        let types = self
            .types
            .iter()
            .map(|row| [row.kind.clone(), row.count.to_string()]);
        page.table(["type", "events"], types);
        let agents = self
            .agents
            .iter()
            .map(|row| [row.agent.clone(), row.count.to_string()]);
        page.table(["agent", "events"], agents);
    }
}
