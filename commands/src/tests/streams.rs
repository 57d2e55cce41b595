//! Streams that end as they should, and what is recorded and shown of them.

use missive_fixtures::{Answer, EchoAgent, Gate, Piece, ScriptedPeer, Setup, Step, wire};
use missive_log::Log as _;
use missive_log::event::{Event, EventKind, TaskId};
use serde_json::json;

use super::{World, alias, patient, py, told};
use crate::report::stream::{StreamEvent, StreamReport};
use crate::wire::version::Binding;
use crate::{
    CommandError, Done, Exit, Interrupt, Missive, Note, OnTask, Send, Show, Stream, Subscribe,
};

pub(super) const TASK: &str =
    r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;

/// A status update about the task `t`.
pub(super) fn status(state: &str) -> String {
    format!(
        r#"{{"statusUpdate":{{"taskId":"t","contextId":"c","status":{{"state":"TASK_STATE_{state}"}}}}}}"#
    )
}

/// A piece of the artifact `a` of the task `t`.
pub(super) fn piece(text: &str, append: bool) -> String {
    format!(
        r#"{{"artifactUpdate":{{"taskId":"t","contextId":"c","append":{append},"artifact":{{"artifactId":"a","parts":[{{"text":"{text}"}}]}}}}}}"#
    )
}

pub(super) fn command(text: &str) -> Stream {
    Stream {
        send: Send::text(py(), text),
        force: false,
        cancel_on_interrupt: false,
    }
}

/// A world with a peer whose card offers streams.
pub(super) async fn world_of(peer: &ScriptedPeer) -> World {
    peer.card(&json!({"capabilities": {"streaming": true}}));
    World::new().with_agent(&peer.url()).await
}

pub(super) type Ended = Result<Done<StreamReport>, CommandError>;

pub(super) async fn streamed(
    missive: &Missive<missive_log::backend::memory::MemoryLog>,
    command: &Stream,
) -> (Ended, Vec<StreamEvent>) {
    let mut shown = Vec::new();
    let ended = missive.stream(command, &mut shown, &mut patient()).await;
    (ended, shown)
}

/// How a command ended, in one line.
pub(super) fn end_of(ended: &Ended) -> String {
    match ended {
        Ok(done) => {
            let report = &done.report;
            let state = report.answer.state.unwrap_or("-");
            format!(
                "{} {} {state} {:?}",
                done.exit.number(),
                report.end,
                report.answer.text
            )
        }
        Err(error) => told(error),
    }
}

/// What the log says of streams and calls, in one line.
pub(super) fn facts(events: &[Event]) -> String {
    let words = events.iter().filter_map(|event| {
        let name = event.kind.name();
        let short = name.strip_prefix("a2a.")?;
        if short.starts_with("card.") {
            return None;
        }
        let short = short.trim_start_matches("stream.");
        if let EventKind::StreamClosed(facts) = &event.kind {
            return Some(match facts.failure {
                Some(failure) => format!("{short}({}: {failure})", facts.end),
                None => format!("{short}({})", facts.end),
            });
        }
        if let EventKind::StreamMalformed(facts) = &event.kind {
            return Some(format!("{short}({})", facts.why));
        }
        if let EventKind::SubscriptionRequested(facts) = &event.kind {
            let by = if event.payloads.len() > 1 {
                ""
            } else {
                " by get"
            };
            return Some(format!("subscription({}{by})", facts.resume));
        }
        Some(short.to_owned())
    });
    words.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn every_update_is_an_event_with_its_exact_text_over_both_bindings() {
    for binding in [Binding::HttpJson, Binding::JsonRpc] {
        let peer = ScriptedPeer::start();
        let world = world_of(&peer).await;
        let steps = [
            TASK.to_owned(),
            piece("Hel", false),
            piece("lo", true),
            status("COMPLETED"),
        ];
        peer.on_stream(&Answer::a2a_stream(steps));
        let mut command = command("hi");
        command.send.binding = Some(binding);

        let (ended, shown) = streamed(&world.missive(), &command).await;

        assert_eq!(end_of(&ended), "0 terminal completed \"Hello\"");
        let events = world.events().await;
        assert_eq!(
            facts(&events),
            "requested task artifact_update artifact_update status_update closed(terminal)"
        );
        let request = events
            .iter()
            .find(|e| e.kind.name() == "a2a.stream.requested");
        let intent = request.unwrap().seq;
        let updates: Vec<&Event> = events.iter().filter(|e| e.seq > intent).collect();
        assert!(updates.iter().all(|event| event.cause == Some(intent)));
        let places: Vec<u64> = updates.iter().map(|event| event.seq.0).collect();
        let told: Vec<u64> = shown.iter().map(|event| event.sequence).collect();
        assert_eq!(told, places[..4]);
        let kinds: Vec<&str> = shown.iter().map(|event| event.kind).collect();
        assert_eq!(
            kinds,
            [
                "task",
                "artifact_update",
                "artifact_update",
                "status_update"
            ]
        );
        assert!(TASK.contains(&shown[0].raw), "{}", shown[0].raw);
        let report = ended.unwrap().report;
        assert_eq!((report.updates, report.sequence), (4, places[4]));
        assert_eq!(report.interface.binding, binding.name());
        let views = world.newest();
        let task = &views.tasks().unwrap()[0];
        assert_eq!(
            (task.task.as_str(), task.state.as_str()),
            ("t", "completed")
        );
        assert_eq!(views.outbox().unwrap(), []);
    }
}

/// Looks, whenever something is shown, whether the log has it.
struct Watcher<'a>(&'a World, usize);

impl Show for Watcher<'_> {
    async fn show(&mut self, event: StreamEvent) {
        let durable = self.0.log.head().borrow().seq.0;
        assert!(event.sequence <= durable, "shown before it was durable");
        self.1 += 1;
    }
}

#[tokio::test]
async fn updates_are_shown_as_they_come_and_never_before_the_log_has_them() {
    let peer = ScriptedPeer::start();
    let world = world_of(&peer).await;
    let gate = Gate::new("after two updates");
    let mut steps = vec![
        Step::from(TASK),
        Step::from(piece("x", false)),
        Step::from(Piece::Gate(gate.clone())),
    ];
    steps.extend((0..600).map(|_| Step::from(piece("y", true))));
    steps.push(Step::from(status("COMPLETED")));
    peer.on_stream(&Answer::a2a_stream(steps));
    let missive = world.missive();
    let (wish, mut interrupt) = (command("hi"), patient());
    let mut watcher = Watcher(&world, 0);
    {
        let streaming = missive.stream(&wish, &mut watcher, &mut interrupt);
        let mut streaming = std::pin::pin!(streaming);
        tokio::select! {
            _ = &mut streaming => panic!("nobody opened the gate"),
            () = gate.arrived() => {}
        }
        gate.open();
        let done = streaming.await.unwrap();
        assert_eq!(done.report.answer.text.len(), 601);
    }

    assert_eq!(watcher.1, 603);
}

#[tokio::test]
async fn streams_of_the_field_reports_end_as_the_reports_ask() {
    let peer = ScriptedPeer::start();
    let world = world_of(&peer).await;
    let mut rows = Vec::new();
    for name in [
        "c046_crlf",
        "c046_cr",
        "c046_mixed",
        "c055_not_json_in_the_middle",
        "c065_message_inside_task",
        "c066_null_status_message",
        "c067_append_rules",
    ] {
        peer.on_stream(&Answer::event_stream(wire(&format!("streams/{name}.sse"))));
        let mut command = command("hi");
        command.send.binding = Some(Binding::HttpJson);
        let before = world.events().await.len();

        let missive = world.missive();
        let (ended, _) = streamed(&missive, &command).await;

        let notes = missive.take_notes().len();
        let events = world.events().await;
        rows.push(format!(
            "{name}: {} | {} | {notes} notes",
            end_of(&ended),
            facts(&events[before..])
        ));
    }

    insta::assert_snapshot!(rows.join("\n"), @r#"
    c046_crlf: 0 terminal completed "" | requested task status_update closed(terminal) | 0 notes
    c046_cr: 0 terminal completed "" | requested task status_update closed(terminal) | 0 notes
    c046_mixed: 0 terminal completed "" | requested task status_update status_update closed(terminal) | 0 notes
    c055_not_json_in_the_middle: 0 terminal completed "" | requested task malformed(not_json) status_update closed(terminal) | 1 notes
    c065_message_inside_task: 0 terminal completed "hi" | requested task message status_update closed(terminal) | 1 notes
    c066_null_status_message: 0 terminal completed "text" | requested task artifact_update status_update closed(terminal) | 0 notes
    c067_append_rules: 0 terminal completed "again\nx" | requested task artifact_update artifact_update artifact_update artifact_update status_update closed(terminal) | 1 notes
    "#);
}

#[tokio::test]
async fn a_message_is_the_whole_answer_and_an_interrupted_task_gives_control_back() {
    let peer = ScriptedPeer::start();
    let world = world_of(&peer).await;
    let message = r#"{"message":{"messageId":"m1","contextId":"c","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}"#;
    let open = |state: &str| {
        let steps = [
            Step::from(TASK),
            Step::from(status(state)),
            Step::from(Piece::Never),
        ];
        Answer::a2a_stream(steps)
    };
    let mut rows = Vec::new();
    for answer in [
        Answer::a2a_stream([message]),
        Answer::a2a_stream([message, &message.replace("m1", "m2")]),
        open("INPUT_REQUIRED"),
        open("AUTH_REQUIRED"),
        open("FAILED"),
        Answer::a2a(wire("send/task_completed.json")),
    ] {
        peer.on_stream(&answer);
        let before = world.events().await.len();

        let (ended, _) = streamed(&world.missive(), &command("hi")).await;

        let events = world.events().await;
        rows.push(format!("{} | {}", end_of(&ended), facts(&events[before..])));
    }

    insta::assert_snapshot!(rows.join("\n"), @r#"
    0 message - "hi" | requested message closed(message)
    0 message - "hi\nhi" | requested message message closed(message)
    83 interrupted input_required "" | requested task status_update closed(interrupted)
    84 interrupted auth_required "" | requested task status_update closed(interrupted)
    80 terminal failed "" | requested task status_update closed(terminal)
    0 answer completed "" | requested task closed(answer)
    "#);
}

#[tokio::test]
async fn without_streams_in_the_card_the_message_is_sent_and_its_task_asked_for() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();

    let (ended, shown) = streamed(&missive, &command("task hello")).await;

    assert_eq!(end_of(&ended), "0 polled completed \"hello\"");
    assert_eq!(shown.len(), 1);
    assert_eq!(
        facts(&world.events().await),
        "send.requested send.responded"
    );
    assert!(
        missive
            .take_notes()
            .iter()
            .any(|note| note.to_string().contains("offers no streams"))
    );

    let mut forced = command("task hello");
    forced.force = true;
    let (refused, _) = streamed(&world.missive(), &forced).await;
    assert!(
        end_of(&refused).starts_with("76 unsupported_operation"),
        "{}",
        end_of(&refused)
    );
}

#[tokio::test]
async fn a_subscription_begins_with_a_snapshot_and_goes_through_the_pause_that_it_began_in() {
    let peer = ScriptedPeer::start();
    let world = world_of(&peer).await;
    let paused = TASK.replace("WORKING", "AUTH_REQUIRED");
    peer.on_subscribe(
        "t",
        &Answer::a2a_stream([
            paused,
            status("WORKING"),
            piece("done", false),
            status("COMPLETED"),
        ]),
    );
    let command = Subscribe {
        target: py(),
        task: missive_log::event::TaskId::new("t").unwrap(),
        context: None,
        binding: None,
    };
    let mut shown = Vec::new();

    let ended = world
        .missive()
        .subscribe(&command, &mut shown, &mut patient())
        .await;

    assert_eq!(end_of(&ended), "0 terminal completed \"done\"");
    assert_eq!(shown.len(), 4);
    assert_eq!(
        facts(&world.events().await),
        "subscription(0) task status_update artifact_update status_update closed(terminal)"
    );
    let over = Answer::a2a_error("unsupported_operation");
    peer.on_subscribe("t", &over);
    let task = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"done"}]}]}"#;
    peer.on_get_task("t", &Answer::a2a(task));
    let ended = world
        .missive()
        .subscribe(&command, &mut shown, &mut patient())
        .await;
    assert_eq!(end_of(&ended), "0 polled completed \"done\"");
}

#[tokio::test]
async fn an_interruption_detaches_or_cancels_and_says_what_became_of_the_task() {
    let peer = ScriptedPeer::start();
    let world = world_of(&peer).await;
    let gate = Gate::new("after the first update");
    let steps = [
        Step::from(TASK),
        Step::from(Piece::Gate(gate.clone())),
        Step::from(status("COMPLETED")),
    ];
    peer.on_stream(&Answer::a2a_stream(steps));
    let canceled = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELED"}}"#;
    peer.on_cancel("t", &Answer::a2a(canceled));
    let mut ends = Vec::new();
    for cancel in [false, true] {
        let mut command = command("hi");
        command.cancel_on_interrupt = cancel;
        let before = world.events().await.len();
        let (tell, hear) = tokio::sync::oneshot::channel::<()>();
        let mut interrupt = Interrupt::when(async {
            let _gone = hear.await;
        });
        let missive = world.missive();
        let mut once = Once(Some(tell));

        let ended = missive.stream(&command, &mut once, &mut interrupt).await;

        let events = world.events().await;
        let canceled = ended
            .as_ref()
            .ok()
            .and_then(|done| done.report.canceled.clone());
        ends.push(format!(
            "{} {canceled:?} | {}",
            end_of(&ended),
            facts(&events[before..])
        ));
    }
    gate.open();

    insta::assert_snapshot!(ends.join("\n"), @r#"
    130 detached working "" None | requested task closed(detached: interrupted)
    130 detached canceled "" Some("canceled") | requested task closed(detached: interrupted) call.requested call.responded task.updated
    "#);
    assert_eq!(world.newest().outbox().unwrap(), []);
}

/// Interrupts as soon as something is shown.
struct Once(Option<tokio::sync::oneshot::Sender<()>>);

impl Show for Once {
    async fn show(&mut self, _: StreamEvent) {
        if let Some(tell) = self.0.take() {
            tell.send(()).unwrap();
        }
    }
}

#[tokio::test]
async fn an_agent_that_streams_is_followed_and_a_cut_stream_resumed() {
    for binding in [Binding::HttpJson, Binding::JsonRpc] {
        let agent = EchoAgent::with(Setup {
            streaming: true,
            ..Setup::default()
        });
        let world = World::new().with_agent(&agent.url()).await;
        let missive = world.missive();
        let mut wish = command("task hello, world");
        wish.send.binding = Some(binding);
        agent.next_stream_is_cut(3, Piece::Reset);

        let (ended, shown) = streamed(&missive, &wish).await;

        assert_eq!(end_of(&ended), "0 terminal completed \"hello, world\"");
        assert!(shown.len() > 6, "{}", shown.len());
        assert_eq!(agent.messages().len(), 1);
        assert_eq!(ended.unwrap().report.resumes, 1);
        let events = world.events().await;
        let told = facts(&events);
        assert!(
            told.contains("closed(broken: answer_cut) subscription(1) task"),
            "{told}"
        );
        assert!(
            alias("py").as_str() == "py" && told.ends_with("closed(terminal)"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn an_answer_in_another_context_is_flagged_at_every_update_and_told_once() {
    let peer = ScriptedPeer::start();
    let world = world_of(&peer).await;
    peer.on_stream(&Answer::a2a_stream([
        TASK.to_owned(),
        status("WORKING"),
        status("COMPLETED"),
    ]));
    let mut command = command("hi");
    command.send.context = Some("asked".to_owned());
    let missive = world.missive();

    let (ended, shown) = streamed(&missive, &command).await;

    assert_eq!(ended.unwrap().report.answer.context_id.unwrap(), "c");
    let flag = "context_mismatch: the answer is in another context than the request";
    assert!(shown.iter().all(|event| event.violations == [flag]));
    let notes = missive.take_notes();
    let told = notes.iter().filter(|note| note.to_string().contains(flag));
    assert_eq!(told.count(), 1);
}

#[tokio::test]
async fn a_subscription_to_a_task_that_ended_here_keeps_to_its_first_end() {
    for (what, streams) in [("a stream", true), ("a question", false)] {
        let peer = ScriptedPeer::start();
        peer.card(&json!({"capabilities": {"streaming": streams}}));
        let world = World::new().with_agent(&peer.url()).await;
        let task = |state: &str| TASK.replace("WORKING", state);
        let whole = |state: &str| {
            let task = task(state);
            let task = task.strip_prefix(r#"{"task":"#).unwrap();
            Answer::a2a(task.strip_suffix('}').unwrap())
        };
        peer.on_get_task("t", &whole("FAILED"));
        let on = OnTask {
            target: py(),
            task: TaskId::new("t").unwrap(),
        };
        let first = world.missive();
        first.task_get(&on, None, &mut patient()).await.unwrap();
        peer.on_get_task("t", &whole("COMPLETED"));
        peer.on_subscribe("t", &Answer::a2a_stream([task("COMPLETED")]));
        let command = Subscribe {
            target: py(),
            task: on.task.clone(),
            context: None,
            binding: None,
        };
        let missive = world.missive();

        let done = missive
            .subscribe(&command, &mut Vec::new(), &mut patient())
            .await
            .unwrap();

        assert_eq!(done.exit, Exit::TaskFailed, "{what}");
        assert_eq!(done.report.answer.state, Some("failed"), "{what}");
        let other = Note::OtherEnd {
            told: "completed".to_owned(),
            end: "failed",
        };
        assert!(missive.take_notes().contains(&other), "{what}");
        assert_eq!(world.newest().tasks().unwrap()[0].state.as_str(), "failed");
    }
}
