//! The tour of a team: three agents that are asked together, wait for each other, vote, and change their minds.

use super::agent::{Character, LoopbackAgent};
use super::{Tour, not_set_up, ran, step};
use crate::failure::Failure;
use crate::render::Output;
use missive_commands::Exit;
use serde_json::Value;
use std::path::Path;

/// The members, with what each thinks at first and when it is asked again.
const MEMBERS: [(&str, Character); 3] = [
    (
        "planner",
        Character {
            name: "Planner",
            opinions: ["ship", "ship"],
        },
    ),
    (
        "critic",
        Character {
            name: "Critic",
            opinions: ["wait", "ship"],
        },
    ),
    (
        "tester",
        Character {
            name: "Tester",
            opinions: ["wait", "wait"],
        },
    ),
];

/// What is said before a step, and the step. `REDUCTION`, `PLACE` and `END` stand for what the log then says:
/// the first reduction, the event that completed it, and the newest event.
const STEPS: &[(&str, &str)] = &[
    (
        "A group, in which everyone has a rank.",
        "group create board",
    ),
    ("", "group add board planner --rank 1"),
    ("", "group add board critic --rank 2"),
    ("", "group add board tester --rank 3"),
    (
        "One message to all of them, in one context. Each begins a task.",
        "bcast board 'opinion: release 7?' --context release-7",
    ),
    (
        "Wait until everyone is done.",
        "barrier board --context release-7 --interval 100ms --timeout 5s",
    ),
    ("What did they say?", "gather board --context release-7"),
    (
        "Count the votes. The result is an event, and so is what it was made of.",
        "reduce board --context release-7 --strategy vote",
    ),
    (
        "The critic is asked again, and thinks otherwise now.",
        "send critic 'opinion: and now?' --context release-7 --wait",
    ),
    ("", "reduce board --context release-7 --strategy vote"),
    (
        "Why did the first vote say so? The log proves what it was made of, and who has said something else since.",
        "reduce show REDUCTION",
    ),
    (
        "Time travel: what had they said when the votes were counted first?",
        "gather board --context release-7 --at PLACE",
    ),
    (
        "Who did what, in order.",
        "events list --group board --limit 12",
    ),
    ("Recompute everything.", "events verify"),
    ("", "projection verify"),
];

/// Runs it.
pub(super) fn run(output: &mut Output, tour: &mut Tour, home: &Path) -> Result<(), Failure> {
    let mut agents = Vec::new();
    for (alias, character) in MEMBERS {
        let agent = LoopbackAgent::start(character).map_err(|error| not_set_up(&error))?;
        let about = if agents.is_empty() {
            "Three agents."
        } else {
            ""
        };
        let words = ["agent", "add", alias, &agent.url()].map(str::to_owned);
        step(output, tour, home, about, &words)?;
        agents.push(agent);
    }
    for (about, line) in STEPS {
        let mut words = shlex::split(line).unwrap_or_default();
        for word in &mut words {
            match word.as_str() {
                "REDUCTION" => *word = first_reduction(home, "/operation_id")?,
                "PLACE" => *word = first_reduction(home, "/sequence")?,
                _ => {}
            }
        }
        step(output, tour, home, about, &words)?;
    }
    output.note("That was a throw-away home. Your own begins with `missive agent add ALIAS URL`; docs/rounds.md goes on.");
    let failed = tour.steps.iter().find(|step| step.exit_code != 0);
    match failed {
        Some(step) => {
            let what = format!("`{}` ended with {}", step.command, step.exit_code);
            Err(Failure::new(Exit::Internal, what))
        }
        None => Ok(()),
    }
}

/// A field of the event of the first reduction.
fn first_reduction(home: &Path, field: &str) -> Result<String, Failure> {
    let list = "events list --type missive.reduce.completed --json";
    let words: Vec<String> = list.split(' ').map(str::to_owned).collect();
    let listed = ran(home, &words).map_err(|error| not_set_up(&error))?;
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
    let found = listed.pointer(&format!("/data/events/0{field}"));
    match found {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Number(number)) => Ok(number.to_string()),
        Some(_) | None => Err(Failure::new(
            Exit::Internal,
            "the tour's log has no reduction",
        )),
    }
}
