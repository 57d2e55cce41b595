//! Which events a command is about: the filter of the command line, answered from the indexes.
//!
//! Where the views cannot follow a damaged log, the log itself is read instead, around the damage: what
//! can still be read is shown, and what cannot is counted.

use super::super::Setting;
use super::{is_damage, kinds};
use crate::args::events as args;
use crate::failure::Failure;
use crate::open::Session;
use crate::suggest;
use missive_commands::Exit;
use missive_commands::contexts::find_context;
use missive_log::event::{ContextId, Seq};
use missive_log::{Log as _, Record};
use missive_projections::{Filter, KindPattern, SELECT_MAX, Views, ViewsError};
use std::collections::VecDeque;

/// How many events are read at once.
const PAGE: usize = 256;

/// The filter of the command line, up to the end that the log has now.
pub(super) fn filter(args: &args::Filter, session: &Session) -> Result<Filter, Failure> {
    let context = args
        .context
        .as_deref()
        .map(|text| context(text, session))
        .transpose();
    Ok(Filter {
        agent: args.agent.clone(),
        context: context?,
        task: args.task.clone(),
        group: args.group.clone(),
        operation: args.operation.clone(),
        kinds: patterns(args),
        origin: args.origin,
        since: args.since,
        until: args.until,
        after: Seq(args.after_sequence.unwrap_or(0)),
        through: Some(session.head().seq),
        reverse: false,
        limit: args.limit,
    })
}

/// The context with this id or name; one that nobody knows is its own id. Where the views cannot follow a
/// damaged log, names mean nothing.
fn context(text: &str, session: &Session) -> Result<ContextId, Failure> {
    let known = session.views().and_then(|views| find_context(&views, text));
    if let Ok(Some(known)) = known {
        return Ok(known.context);
    }
    ContextId::new(text).map_err(|error| Failure::from_error(Exit::Usage, &error))
}

/// The types of the command line.
pub(super) fn patterns(args: &args::Filter) -> Vec<KindPattern> {
    let kinds = args.kind.iter();
    kinds.map(|kind| KindPattern::new(kind)).collect()
}

/// The filter as it could be typed; empty if it leaves nothing out.
pub(super) fn typed(args: &args::Filter) -> String {
    let text = |value: &dyn ToString| Some(value.to_string());
    let flags = [
        ("--agent", args.agent.as_ref().and_then(|v| text(v))),
        ("--context", args.context.clone()),
        ("--task", args.task.as_ref().and_then(|v| text(v))),
        ("--group", args.group.as_ref().and_then(|v| text(v))),
        ("--operation", args.operation.as_ref().and_then(|v| text(v))),
        ("--origin", args.origin.and_then(|v| text(&v.as_str()))),
        ("--type", args.kind.clone()),
        ("--since", args.since.and_then(|v| text(&v))),
        ("--until", args.until.and_then(|v| text(&v))),
        (
            "--after-sequence",
            args.after_sequence.and_then(|v| text(&v)),
        ),
        ("--limit", args.limit.and_then(|v| text(&v))),
    ];
    let given = flags
        .into_iter()
        .filter_map(|(flag, value)| Some(format!("{flag} {}", value?)));
    given.collect::<Vec<_>>().join(" ")
}

/// Refuses a filter that names something that the log has never heard of, with what may have been meant.
pub(super) fn check_names(
    filter: &Filter,
    setting: &Setting<'_>,
    views: &Views,
) -> Result<Result<(), Failure>, ViewsError> {
    let unknown = [
        kinds::unknown(filter, Some(views))?,
        unknown_agent(filter, setting, views)?,
        unknown_context(filter, views)?,
        unknown_group(filter, views)?,
        unknown_task(filter, views)?,
        unknown_operation(filter, views)?,
    ];
    Ok(unknown.into_iter().flatten().next().map_or(Ok(()), Err))
}

/// Whether no event is found by this alone.
fn finds_nothing(views: &Views, filter: Filter) -> Result<bool, ViewsError> {
    let one = Filter {
        limit: Some(1),
        ..filter
    };
    Ok(views.select(&one)?.is_empty())
}

/// `noun` is also the last part of the failure's code.
fn unknown(what: &str, noun: &'static str, id: &str, known: &[String]) -> Failure {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let failure = Failure::new(Exit::NotFound, format!("no {what} `{id}`")).detail(noun);
    failure.hint_if(suggest::hint(id, noun, &known))
}

fn unknown_agent(
    filter: &Filter,
    setting: &Setting<'_>,
    views: &Views,
) -> Result<Option<Failure>, ViewsError> {
    let Some(agent) = &filter.agent else {
        return Ok(None);
    };
    let alone = Filter {
        agent: filter.agent.clone(),
        ..Filter::default()
    };
    let seeds = &setting.config.agents;
    if seeds.contains_key(agent.as_str())
        || views.entry(agent)?.is_some()
        || !finds_nothing(views, alone)?
    {
        return Ok(None);
    }
    let registered = views.agents()?.into_iter();
    let registered = registered.map(|agent| agent.alias.to_string());
    let known: Vec<String> = registered.chain(seeds.keys().cloned()).collect();
    Ok(Some(unknown(
        "agent is called",
        "agent",
        agent.as_str(),
        &known,
    )))
}

fn unknown_group(filter: &Filter, views: &Views) -> Result<Option<Failure>, ViewsError> {
    let Some(group) = &filter.group else {
        return Ok(None);
    };
    if views.group_entry(group)?.is_some() {
        return Ok(None);
    }
    let known: Vec<String> = views
        .groups()?
        .into_iter()
        .map(|group| group.name.to_string())
        .collect();
    Ok(Some(unknown(
        "group is called",
        "group",
        group.as_str(),
        &known,
    )))
}

fn unknown_context(filter: &Filter, views: &Views) -> Result<Option<Failure>, ViewsError> {
    let Some(context) = &filter.context else {
        return Ok(None);
    };
    let alone = Filter {
        context: filter.context.clone(),
        ..Filter::default()
    };
    if !finds_nothing(views, alone)? {
        return Ok(None);
    }
    let known = views.contexts()?.into_iter();
    let known: Vec<String> = known.map(|known| known.context.to_string()).collect();
    Ok(Some(unknown(
        "event has the context",
        "context",
        context.as_str(),
        &known,
    )))
}

fn unknown_task(filter: &Filter, views: &Views) -> Result<Option<Failure>, ViewsError> {
    let Some(task) = &filter.task else {
        return Ok(None);
    };
    let alone = Filter {
        task: filter.task.clone(),
        ..Filter::default()
    };
    if !finds_nothing(views, alone)? {
        return Ok(None);
    }
    let known = views.tasks()?.into_iter();
    let known: Vec<String> = known.map(|known| known.task.to_string()).collect();
    Ok(Some(unknown(
        "event has the task",
        "task",
        task.as_str(),
        &known,
    )))
}

fn unknown_operation(filter: &Filter, views: &Views) -> Result<Option<Failure>, ViewsError> {
    let Some(operation) = &filter.operation else {
        return Ok(None);
    };
    if views.last_of_operation(operation)?.is_some() {
        return Ok(None);
    }
    let unknown = unknown(
        "event has the operation",
        "operation",
        operation.as_str(),
        &[],
    );
    let hint = "`missive events list --type 'a2a.*.requested'` shows the operation of each request";
    Ok(Some(unknown.hint(hint)))
}

/// Places from the indexes, page by page.
#[derive(Debug)]
pub(in crate::command) struct Indexed {
    views: Views,
    filter: Filter,
    ended: bool,
}

impl Indexed {
    pub(in crate::command) fn new(views: Views, filter: Filter) -> Self {
        Self {
            views,
            filter,
            ended: false,
        }
    }

    /// The next places, at most `most`; none at the end.
    pub(in crate::command) fn page(&mut self, most: usize) -> Result<Vec<Seq>, ViewsError> {
        let most = most
            .min(SELECT_MAX)
            .min(self.filter.limit.unwrap_or(SELECT_MAX));
        if self.ended || most == 0 {
            return Ok(Vec::new());
        }
        let wanted = Filter {
            limit: Some(most),
            ..self.filter.clone()
        };
        let page = self.views.select(&wanted)?;
        self.ended = page.len() < most;
        if let Some(left) = &mut self.filter.limit {
            *left -= page.len();
        }
        match page.last() {
            Some(last) if self.filter.reverse => {
                self.filter.through = Some(Seq(last.0.saturating_sub(1)));
            }
            Some(last) => self.filter.after = *last,
            None => {}
        }
        Ok(page)
    }
}

enum Places {
    Indexed(Indexed),
    Known(VecDeque<Seq>),
}

/// Records that a filter means, page by page, in the order that was asked for.
pub(super) struct Chosen<'s> {
    session: &'s Session,
    places: Places,
    /// How many could not be read.
    pub(super) unreadable: u64,
}

impl<'s> Chosen<'s> {
    /// Begins with the first page's place. With a limit the newest are kept, oldest first unless `reverse`.
    pub(super) async fn new(
        session: &'s Session,
        setting: &Setting<'_>,
        args: &args::Filter,
        reverse: bool,
    ) -> Result<Self, Failure> {
        Self::of(session, setting, args, None, reverse).await
    }

    /// The same up to an earlier moment, if `past` are the views of one: an agent is the one that had the alias
    /// then.
    pub(super) async fn of(
        session: &'s Session,
        setting: &Setting<'_>,
        args: &args::Filter,
        past: Option<&Views>,
        reverse: bool,
    ) -> Result<Self, Failure> {
        let mut filter = filter(args, session)?;
        if let Some(past) = past {
            filter.through = Some(past.least());
        }
        let (places, unreadable) = match indexed(session, setting, past, &filter, reverse) {
            Ok(places) => (places?, 0),
            Err(ViewsError::Log(error)) if is_damage(&error) => {
                scanned(session, &filter, reverse).await?
            }
            Err(error) => return Err(session.views_failure(&error)),
        };
        Ok(Self {
            session,
            places,
            unreadable,
        })
    }

    /// The next records; none at the end.
    pub(super) async fn page(&mut self) -> Result<Vec<Record>, Failure> {
        loop {
            let places = match &mut self.places {
                Places::Indexed(indexed) => {
                    let page = indexed.page(PAGE);
                    page.map_err(|error| self.session.views_failure(&error))?
                }
                Places::Known(known) => known.drain(..PAGE.min(known.len())).collect(),
            };
            if places.is_empty() {
                return Ok(Vec::new());
            }
            let (records, unreadable) = picked(self.session, &places).await?;
            self.unreadable += unreadable;
            if !records.is_empty() {
                return Ok(records);
            }
        }
    }
}

fn indexed(
    session: &Session,
    setting: &Setting<'_>,
    past: Option<&Views>,
    filter: &Filter,
    reverse: bool,
) -> Result<Result<Places, Failure>, ViewsError> {
    let live = session.views()?;
    if let Err(unknown) = check_names(filter, setting, &live)? {
        return Ok(Err(unknown));
    }
    let views = past.cloned().unwrap_or(live);
    let newest_first = reverse || filter.limit.is_some();
    let filter = Filter {
        reverse: newest_first,
        ..filter.clone()
    };
    let mut indexed = Indexed::new(views, filter);
    if newest_first == reverse {
        return Ok(Ok(Places::Indexed(indexed)));
    }
    // The newest N, oldest first.
    let mut places = VecDeque::new();
    loop {
        let page = indexed.page(SELECT_MAX)?;
        if page.is_empty() {
            return Ok(Ok(Places::Known(places)));
        }
        for seq in page {
            places.push_front(seq);
        }
    }
}

/// The same from the log itself, around what cannot be read.
async fn scanned(
    session: &Session,
    filter: &Filter,
    reverse: bool,
) -> Result<(Places, u64), Failure> {
    let mut places = VecDeque::new();
    let mut unreadable = 0;
    let mut after = filter.after;
    let end = session.head().seq;
    while after < end {
        let page: Vec<Seq> = (after.0 + 1..=end.0).take(PAGE).map(Seq).collect();
        after = page.last().copied().unwrap_or(end);
        let (records, lost) = picked(session, &page).await?;
        unreadable += lost;
        for record in records {
            match record.decode() {
                Ok(event) if filter.matches(&event) => places.push_back(record.seq),
                Ok(_) => {}
                Err(_) => unreadable += 1,
            }
        }
        if let Some(limit) = filter.limit {
            let more = places.len().saturating_sub(limit);
            places.drain(..more);
        }
    }
    if reverse {
        places = places.into_iter().rev().collect();
    }
    Ok((Places::Known(places), unreadable))
}

/// The records at these places, and how many of them are damaged.
pub(in crate::command) async fn picked(
    session: &Session,
    places: &[Seq],
) -> Result<(Vec<Record>, u64), Failure> {
    match session.log().pick(places).await {
        Ok(records) => return Ok((records, 0)),
        Err(error) if is_damage(&error) => {}
        Err(error) => return Err(session.read_failure(error)),
    }
    let (mut records, mut unreadable) = (Vec::new(), 0);
    for place in places {
        match session.log().pick(&[*place]).await {
            Ok(found) => records.extend(found),
            Err(error) if is_damage(&error) => unreadable += 1,
            Err(error) => return Err(session.read_failure(error)),
        }
    }
    Ok((records, unreadable))
}
