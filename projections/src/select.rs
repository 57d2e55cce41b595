//! Which events: every filter of `events list`, answered from the indexes.
//!
//! Each criterion is a sorted stream of places; their intersection leaps from one to the next that all
//! of them may share. Streams are read in pages, so what is held at once is bounded, and the newest N
//! of a million cost about N.

use crate::agent::{Agent, Entry};
use crate::error::ViewsError;
use crate::index::term;
use crate::rows::{Index, KeyRange, Order, Places, Read, Table, fetch};
use missive_log::Timestamp;
use missive_log::event::{Alias, ContextId, Event, GroupName, OperationId, Origin, Seq, TaskId};
use serde::{Deserialize, Serialize};

/// The most places that one selection gives: more are asked for page by page.
pub const SELECT_MAX: usize = 65_536;
/// How many places a stream reads at first, and at most.
const PAGE_FIRST: usize = 64;
const PAGE_MAX: usize = 4_096;
/// The most kinds that a glob may stand for.
const KINDS_MAX: usize = 4_096;

/// What a kind must be: a dotted name, or a glob such as `a2a.stream.*`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindPattern(String);

impl KindPattern {
    /// A pattern. `*` stands for any run of characters and `?` for one; without them it is exact.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The pattern as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it stands for more than one name.
    pub fn is_glob(&self) -> bool {
        self.0.contains(['*', '?'])
    }

    /// Whether a name matches.
    pub fn matches(&self, name: &str) -> bool {
        if !self.is_glob() {
            return self.0 == name;
        }
        // The classic one: after a mismatch, the last `*` takes one character more.
        let (pattern, text): (Vec<char>, Vec<char>) =
            (self.0.chars().collect(), name.chars().collect());
        let (mut p, mut t) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        while t < text.len() {
            match pattern.get(p) {
                Some('*') => {
                    retry = Some((p, t));
                    p += 1;
                }
                Some(c) if *c == '?' || Some(c) == text.get(t) => {
                    p += 1;
                    t += 1;
                }
                Some(_) | None => match retry {
                    Some((star, taken)) => {
                        retry = Some((star, taken + 1));
                        p = star + 1;
                        t = taken + 1;
                    }
                    None => return false,
                },
            }
        }
        pattern.iter().skip(p).all(|c| *c == '*')
    }

    /// What every match begins with.
    fn literal(&self) -> &str {
        self.0.split(['*', '?']).next().unwrap_or_default()
    }
}

/// Which events. Everything that is given must hold; an empty filter means all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// By agent: under its present alias and, for a renamed one, its former ones in their time.
    pub agent: Option<Alias>,
    /// By context.
    pub context: Option<ContextId>,
    /// By task.
    pub task: Option<TaskId>,
    /// By group, by the name that it had then.
    pub group: Option<GroupName>,
    /// By operation.
    pub operation: Option<OperationId>,
    /// By kind: one of these; empty means any.
    pub kinds: Vec<KindPattern>,
    /// By the door of entry.
    pub origin: Option<Origin>,
    /// Not before this moment.
    pub since: Option<Timestamp>,
    /// Not after this moment.
    pub until: Option<Timestamp>,
    /// Only places after this one.
    pub after: Seq,
    /// Only places up to this one.
    pub through: Option<Seq>,
    /// Newest first.
    pub reverse: bool,
    /// At most this many, and at most [`SELECT_MAX`]: the oldest ones, or with `reverse` the newest.
    pub limit: Option<usize>,
}

impl Filter {
    /// Whether an event is meant, by the alias that it names itself. For events that are followed
    /// live, which name present aliases.
    pub fn matches(&self, event: &Event) -> bool {
        let links = &event.links;
        self.agent
            .as_ref()
            .is_none_or(|agent| links.agent.as_ref() == Some(agent))
            && self.matches_but_agent(event)
    }

    /// Whether at most so many places are asked for, by one condition at most: then they lie side by side in
    /// one index, and nothing is passed over on the way to them.
    pub(crate) fn is_small(&self, places_max: usize) -> bool {
        let conditions = [
            self.agent.is_some(),
            self.context.is_some(),
            self.task.is_some(),
            self.group.is_some(),
            self.operation.is_some(),
            self.origin.is_some(),
        ];
        self.kinds.is_empty()
            && conditions.iter().filter(|given| **given).count() <= 1
            && self.limit.is_some_and(|limit| limit <= places_max)
    }

    pub(crate) fn matches_but_agent(&self, event: &Event) -> bool {
        let links = &event.links;
        let kind = event.kind.name();
        self.context
            .as_ref()
            .is_none_or(|context| links.context.as_ref() == Some(context))
            && self
                .task
                .as_ref()
                .is_none_or(|task| links.task.as_ref() == Some(task))
            && self
                .group
                .as_ref()
                .is_none_or(|group| links.group.as_ref() == Some(group))
            && self
                .operation
                .as_ref()
                .is_none_or(|id| event.operation.as_ref() == Some(id))
            && self
                .origin
                .is_none_or(|origin| event.origin == Some(origin))
            && (self.kinds.is_empty() || self.kinds.iter().any(|pattern| pattern.matches(kind)))
            && self.since.is_none_or(|since| event.at >= since)
            && self.until.is_none_or(|until| event.at <= until)
            && event.seq > self.after
            && self.through.is_none_or(|through| event.seq <= through)
    }
}

/// Answers a filter. `position` is where the views stand, `gaps` are the places without an event;
/// `at` tells the time of an event.
pub(crate) fn select(
    rows: &dyn Read,
    filter: &Filter,
    position: Seq,
    gaps: &[Places],
    at: &dyn Fn(Seq) -> Result<Timestamp, ViewsError>,
) -> Result<Vec<Seq>, ViewsError> {
    if filter.after >= position {
        return Ok(Vec::new());
    }
    let mut places = Places {
        first: filter.after.next(),
        last: filter
            .through
            .map_or(position, |through| through.min(position)),
    };
    if let Some(since) = filter.since {
        places.first = places.first.max(first_since(rows, since, position, at)?);
    }
    if let Some(until) = filter.until {
        let after = Timestamp::from_micros(until.as_micros().saturating_add(1));
        // The last moment of all has none after it.
        if after > until {
            let beyond = first_since(rows, after, position, at)?;
            places.last = places.last.min(Seq(beyond.0.saturating_sub(1)));
        }
    }
    let order = if filter.reverse {
        Order::Reverse
    } else {
        Order::Forward
    };
    let limit = filter.limit.unwrap_or(SELECT_MAX).min(SELECT_MAX);
    let mut streams = streams(rows, filter, places)?;
    intersect(rows, &mut streams, places, gaps, order, limit)
}

/// The first place whose event is not before a moment; one after the newest if there is none.
pub(crate) fn first_since(
    rows: &dyn Read,
    moment: Timestamp,
    position: Seq,
    at: &dyn Fn(Seq) -> Result<Timestamp, ViewsError>,
) -> Result<Seq, ViewsError> {
    let second = crate::index::second(moment);
    let range = KeyRange {
        from: second.to_vec(),
        to: None,
    };
    let found = rows.scan(Table::Times, &range, Order::Forward, 2)?;
    let read = |row: Option<&crate::rows::Row>| match row {
        Some((_, value)) => crate::rows::decode_row(value)
            .map(Some)
            .ok_or(ViewsError::Damaged {
                table: Table::Times,
            }),
        None => Ok(None),
    };
    let end = position.next();
    let first: Seq = read(found.first())?.unwrap_or(end);
    let same = found.first().is_some_and(|(key, _)| *key == second);
    if !same || moment.as_micros().is_multiple_of(1_000_000) {
        return Ok(first.min(end));
    }
    // Times never decrease, so the place within that second is found by halving it.
    let (mut low, mut high) = (first.0, read(found.get(1))?.unwrap_or(end).0);
    while low < high {
        let middle = low + (high - low) / 2;
        if at(Seq(middle))? < moment {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(Seq(low).min(end))
}

/// The aliases under which an agent's events stand, each with its time.
pub(crate) fn aliases(rows: &dyn Read, alias: &Alias) -> Result<Vec<(Alias, Places)>, ViewsError> {
    let entry: Option<Entry> = fetch(rows, Table::Agents, alias.as_str().as_bytes())?;
    let former = match entry {
        Some(Entry::Present(Agent { former, .. })) => former,
        Some(Entry::Removed { was, .. }) => was.former,
        Some(Entry::Renamed { .. }) | None => Vec::new(),
    };
    let mut spans = vec![(alias.clone(), Places::ALL)];
    spans.extend(former.into_iter().map(|former| {
        let time = Places {
            first: former.since,
            last: former.until,
        };
        (former.alias, time)
    }));
    Ok(spans)
}

/// The kinds that a list of patterns stands for, among those that occur.
fn kinds(rows: &dyn Read, patterns: &[KindPattern]) -> Result<Vec<Vec<u8>>, ViewsError> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    for pattern in patterns {
        if !pattern.is_glob() {
            found.push(term(pattern.as_str()).to_vec());
            continue;
        }
        let range = KeyRange::prefix(pattern.literal().as_bytes());
        for (kind, _) in rows.scan(Table::Kinds, &range, Order::Forward, KINDS_MAX)? {
            if pattern.matches(&String::from_utf8_lossy(&kind)) {
                found.push(kind);
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// One criterion: the union of the places of some terms.
struct Stream(Vec<Cursor>);

/// The places of one term, read page by page.
struct Cursor {
    index: Index,
    term: Vec<u8>,
    places: Places,
    page: std::collections::VecDeque<Seq>,
    page_size: usize,
    ended: bool,
}

fn streams(rows: &dyn Read, filter: &Filter, places: Places) -> Result<Vec<Stream>, ViewsError> {
    let one = |index, text: &str| Stream(vec![Cursor::new(index, term(text).to_vec(), places)]);
    let mut streams = Vec::new();
    if let Some(agent) = &filter.agent {
        let spans = aliases(rows, agent)?.into_iter().map(|(alias, time)| {
            let within = Places {
                first: places.first.max(time.first),
                last: places.last.min(time.last),
            };
            Cursor::new(Index::Agent, term(alias.as_str()).to_vec(), within)
        });
        streams.push(Stream(spans.collect()));
    }
    if let Some(context) = &filter.context {
        streams.push(one(Index::Context, context.as_str()));
    }
    if let Some(task) = &filter.task {
        streams.push(one(Index::Task, task.as_str()));
    }
    if let Some(group) = &filter.group {
        streams.push(one(Index::Group, group.as_str()));
    }
    if let Some(operation) = &filter.operation {
        streams.push(one(Index::Operation, operation.as_str()));
    }
    if let Some(origin) = filter.origin {
        streams.push(one(Index::Origin, origin.as_str()));
    }
    if !filter.kinds.is_empty() {
        let terms = kinds(rows, &filter.kinds)?.into_iter();
        streams.push(Stream(
            terms
                .map(|term| Cursor::new(Index::Kind, term, places))
                .collect(),
        ));
    }
    Ok(streams)
}

impl Cursor {
    fn new(index: Index, term: Vec<u8>, places: Places) -> Self {
        Self {
            index,
            term,
            places,
            page: std::collections::VecDeque::new(),
            page_size: PAGE_FIRST,
            ended: places.is_empty(),
        }
    }

    /// The first place of the term that is not before `target` in the given order.
    fn seek(
        &mut self,
        rows: &dyn Read,
        target: Seq,
        order: Order,
    ) -> Result<Option<Seq>, ViewsError> {
        loop {
            while let Some(front) = self.page.front() {
                if !is_before(*front, target, order) {
                    return Ok(Some(*front));
                }
                self.page.pop_front();
            }
            if self.ended {
                return Ok(None);
            }
            let places = match order {
                Order::Forward => Places {
                    first: self.places.first.max(target),
                    ..self.places
                },
                Order::Reverse => Places {
                    last: self.places.last.min(target),
                    ..self.places
                },
            };
            let page = rows.postings(self.index, &self.term, places, order, self.page_size)?;
            self.ended = page.len() < self.page_size;
            self.page_size = (self.page_size * 4).min(PAGE_MAX);
            self.page = page.into();
        }
    }
}

fn is_before(seq: Seq, target: Seq, order: Order) -> bool {
    match order {
        Order::Forward => seq < target,
        Order::Reverse => seq > target,
    }
}

impl Stream {
    fn seek(
        &mut self,
        rows: &dyn Read,
        target: Seq,
        order: Order,
    ) -> Result<Option<Seq>, ViewsError> {
        let mut nearest: Option<Seq> = None;
        for cursor in &mut self.0 {
            if let Some(found) = cursor.seek(rows, target, order)?
                && nearest.is_none_or(|nearest| is_before(found, nearest, order))
            {
                nearest = Some(found);
            }
        }
        Ok(nearest)
    }
}

fn intersect(
    rows: &dyn Read,
    streams: &mut [Stream],
    places: Places,
    gaps: &[Places],
    order: Order,
    limit: usize,
) -> Result<Vec<Seq>, ViewsError> {
    let mut found = Vec::new();
    let mut target = match order {
        Order::Forward => places.first,
        Order::Reverse => places.last,
    };
    'candidates: while found.len() < limit && places.contains(target) {
        if let Some(gap) = gaps.iter().find(|gap| gap.contains(target)) {
            target = match order {
                Order::Forward => gap.last.next(),
                Order::Reverse => Seq(gap.first.0.saturating_sub(1)),
            };
            continue;
        }
        for stream in streams.iter_mut() {
            match stream.seek(rows, target, order)? {
                None => return Ok(found),
                Some(next) if next != target => {
                    target = next;
                    continue 'candidates;
                }
                Some(_) => {}
            }
        }
        found.push(target);
        target = match order {
            Order::Forward => target.next(),
            Order::Reverse => Seq(target.0.saturating_sub(1)),
        };
    }
    Ok(found)
}
