//! A conversation once more, with the pauses that it had.

use super::show::say;
use super::story::{Story, Wanted};
use crate::args::events::Speed;
use crate::command::Setting;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::open::Session;
use crate::render::{Kind, Lines, Output, Page, Reader, Report};
use missive_commands::Exit;
use missive_commands::conversation::Turn;
use missive_log::Timestamp;
use missive_log::event::ContextId;
use serde::Serialize;
use std::time::Duration;

/// The longest pause: nobody watches a night go by.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Shows each turn of a context after the pause that was before it, until its newest one.
pub(in super::super) async fn watch(
    context: &ContextId,
    speed: Speed,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let listening = Interrupt::listen();
    let mut interrupt =
        listening.map_err(|error| Failure::io("signals cannot be listened for", &error))?;
    let limit = setting.globals.timeout;
    let time_is_up = async move {
        match limit {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    let mut time_is_up = std::pin::pin!(time_is_up);
    let mut story = Story::new(session, context, session.head().seq, Wanted::Turns)?;
    let mut before = None;
    loop {
        let chapters = story.page().await?;
        let ended = chapters.is_empty();
        let turns = chapters.into_iter().flat_map(|chapter| chapter.turns);
        let turns: Vec<Turn> = turns.chain(ended.then(|| story.end()).flatten()).collect();
        for turn in turns {
            let now = Timestamp::parse_rfc3339(&turn.timestamp);
            let pause = pause(before, now, speed);
            before = now.or(before);
            if !pause.is_zero() {
                tokio::select! {
                    biased;
                    code = interrupt.came() => return Ok(code),
                    () = &mut time_is_up => return Ok(Exit::Timeout),
                    () = tokio::time::sleep(pause) => {}
                }
            }
            if output.report(&Again { turn }).await? == Reader::Gone {
                return Ok(Exit::Done);
            }
        }
        if ended {
            break;
        }
    }
    if story.unreadable > 0 {
        output.warn(&format!(
            "{} events cannot be read and are left out; `missive events verify` says more",
            story.unreadable
        ));
    }
    Ok(Exit::Done)
}

/// How long to wait between two turns.
fn pause(before: Option<Timestamp>, now: Option<Timestamp>, speed: Speed) -> Duration {
    let (Some(before), Some(now), Speed::Times(times)) = (before, now, speed) else {
        return Duration::ZERO;
    };
    let passed = now.as_micros().saturating_sub(before.as_micros());
    (Duration::from_micros(passed) / times.get()).min(PAUSE_MAX)
}

/// One turn of `events replay --watch`.
#[derive(Serialize)]
struct Again {
    turn: Turn,
}

impl Report for Again {
    fn kind(&self) -> Kind {
        Kind::EventsReplay
    }

    fn human(&self, page: &mut Page) {
        page.line("");
        say(&self.turn, page);
    }

    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        lines.push(self.kind(), true, self)
    }
}

#[cfg(test)]
mod tests {
    use super::{PAUSE_MAX, pause};
    use crate::args::events::Speed;
    use missive_log::Timestamp;
    use std::num::NonZeroU32;
    use std::time::Duration;

    #[test]
    fn a_pause_is_what_passed_divided_by_the_speed_and_never_a_night() {
        let at = |seconds: u64| Some(Timestamp::from_micros(seconds * 1_000_000));
        let times = |times: u32| Speed::Times(NonZeroU32::new(times).unwrap());

        assert_eq!(pause(None, at(9), times(1)), Duration::ZERO);
        assert_eq!(pause(at(5), at(9), times(1)), Duration::from_secs(4));
        assert_eq!(pause(at(5), at(9), times(8)), Duration::from_millis(500));
        assert_eq!(pause(at(5), at(9), Speed::AtOnce), Duration::ZERO);
        assert_eq!(pause(at(5), at(40_000), times(2)), PAUSE_MAX);
        assert_eq!(pause(at(9), at(5), times(1)), Duration::ZERO);
    }
}
