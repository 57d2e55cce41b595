//! Types of events that a filter names: one that nothing can have is a slip of the keyboard.
//!
//! Known are the types of this build (`docs/events.md` lists them) and whatever the log holds, so that
//! what a newer missive wrote can still be asked for.

use crate::failure::Failure;
use crate::suggest;
use missive_commands::Exit;
use missive_log::event::EventKind;
use missive_projections::{Filter, Views, ViewsError};
use std::collections::BTreeSet;

/// A type that neither this build nor the log knows.
pub(super) fn unknown(
    filter: &Filter,
    views: Option<&Views>,
) -> Result<Option<Failure>, ViewsError> {
    let mut known: BTreeSet<String> = EventKind::NAMES
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    let is_unknown = |known: &BTreeSet<String>| {
        let mut wanted = filter.kinds.iter();
        wanted.find(|wanted| !known.iter().any(|name| wanted.matches(name)))
    };
    if is_unknown(&known).is_none() {
        return Ok(None);
    }
    if let Some(views) = views {
        known.extend(views.kinds()?.into_iter().map(|(name, _)| name));
    }
    Ok(is_unknown(&known).map(|wanted| refused(wanted.as_str(), wanted.is_glob(), &known)))
}

fn refused(wanted: &str, is_glob: bool, known: &BTreeSet<String>) -> Failure {
    let groups: BTreeSet<String> = known
        .iter()
        .filter_map(|name| Some(format!("{}.*", name.rsplit_once('.')?.0)))
        .collect();
    let choices = if is_glob { &groups } else { known };
    let choices = choices.iter().map(String::as_str);
    let hint = match suggest::nearest(wanted, choices) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "types begin with {}; `missive events stats` counts those of this log",
            groups.into_iter().collect::<Vec<_>>().join(", ")
        ),
    };
    Failure::new(Exit::NotFound, format!("there is no event type `{wanted}`"))
        .detail("type")
        .hint(hint)
}
