//! What is unfinished, after every way in which a send can end.

use super::*;
use crate::{Views, ViewsHost};

/// What happens to operation `op`, one event each.
#[derive(Clone, Copy, Debug)]
enum Then {
    /// A send is written down, as this attempt.
    Intent(u32),
    /// An answer to the how manieth event of the row, from 0.
    Answer(usize),
    /// An answer that names no cause.
    AnswerWithoutCause,
    Failed(usize),
    InDoubt(usize),
    Resolved(usize),
    /// An answer of another operation.
    Stranger,
}

/// The open attempts afterwards, with whether each is marked as in doubt.
fn open_after(story: &[Then]) -> Vec<(u32, bool)> {
    let mut world = World::new();
    let mut places: Vec<Seq> = Vec::new();
    for then in story {
        let (op, cause, kind) = match *then {
            Then::Intent(attempt) => ("op", None, send("m", attempt)),
            Then::Answer(n) => ("op", Some(places[n]), responded(Some("r"), None)),
            Then::AnswerWithoutCause => ("op", None, responded(Some("r"), None)),
            Then::Failed(n) => ("op", Some(places[n]), send_failed()),
            Then::InDoubt(n) => ("op", Some(places[n]), in_doubt()),
            Then::Resolved(n) => {
                let task = seen("t", TaskState::Working, None);
                (
                    "op",
                    Some(places[n]),
                    EventKind::SendResolved(SendResolved { task }),
                )
            }
            Then::Stranger => ("other", None, responded(Some("r"), None)),
        };
        places.push(world.append(of(op, "ada", cause, kind)));
    }
    let head = world.head();
    let host = Arc::new(ViewsHost::in_memory(head.log, world.source()));
    let views = Views::hosted(host, head.seq);
    let open = views.outbox().unwrap();
    assert_eq!(open, views.outbox_of(&operation("op")).unwrap());
    open.iter()
        .map(|row| (row.attempt, row.doubt.is_some()))
        .collect()
}

#[test]
fn an_intent_is_open_until_its_outcome_is_written() {
    use Then::{Answer, AnswerWithoutCause, Failed, InDoubt, Intent, Resolved, Stranger};
    type Row<'a> = (&'a str, &'a [Then], &'a [(u32, bool)]);
    let table: [Row<'_>; 12] = [
        ("crash after the intent", &[Intent(1)], &[(1, false)]),
        ("answered", &[Intent(1), Answer(0)], &[]),
        (
            "answered without a cause",
            &[Intent(1), AnswerWithoutCause],
            &[],
        ),
        ("failed for sure", &[Intent(1), Failed(0)], &[]),
        ("in doubt", &[Intent(1), InDoubt(0)], &[(1, true)]),
        (
            "found after a doubt",
            &[Intent(1), InDoubt(0), Resolved(0)],
            &[],
        ),
        (
            "found, naming the doubt",
            &[Intent(1), InDoubt(0), Resolved(1)],
            &[],
        ),
        (
            "resent",
            &[Intent(1), InDoubt(0), Intent(2)],
            &[(1, true), (2, false)],
        ),
        (
            "resent and answered",
            &[Intent(1), InDoubt(0), Intent(2), Answer(2)],
            &[],
        ),
        // Whether the first attempt arrived is as unknown as before.
        (
            "resent and failed",
            &[Intent(1), InDoubt(0), Intent(2), Failed(2)],
            &[(1, true)],
        ),
        (
            "resent after a crash",
            &[Intent(1), Intent(2), Resolved(1)],
            &[],
        ),
        ("another operation", &[Intent(1), Stranger], &[(1, false)]),
    ];
    for (what, story, open) in table {
        assert_eq!(open_after(story), open, "{what}");
    }
}

#[test]
fn an_outcome_closes_only_intents_of_its_own_kind() {
    let mut world = World::new();
    let card = world.append(of("op", "ada", None, card_requested("http://one.test")));
    let sent = world.append(of("op", "ada", None, send("m", 1)));
    let asked = world.append(of("op", "ada", None, call("t")));
    world.append(of("op", "ada", Some(card), card_fetched(200, BEGIN)));
    world.append(of(
        "op",
        "ada",
        Some(asked),
        updated(seen("t", TaskState::Working, None)),
    ));

    let host = Arc::new(ViewsHost::in_memory(world.head().log, world.source()));
    let open = Views::hosted(host, world.head().seq).outbox().unwrap();

    let places: Vec<Seq> = open.iter().map(|row| row.seq).collect();
    assert_eq!(places, [sent, asked]);
    assert_eq!(open[0].message, Some(message("m")));
    assert_eq!(open[0].agent, Some(alias("ada")));
    assert_eq!(open[0].instance, InstanceId([3; 8]));
}
