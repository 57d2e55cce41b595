//! What the official types say of the same bytes: where they take an answer, our lenient reader finds the
//! same facts in it.

use missive_fixtures::captures;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::answer::{Reply, read};
use super::captures_tests::{answer, operation, ours};
use super::facts::{MessageFacts, TaskFacts};
use super::json::Limits;

/// The object that an answer is about, as the official types read it; `None` if they refuse it.
fn official<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    let mut value: Value = serde_json::from_slice(body).ok()?;
    if value.get("jsonrpc").is_some() {
        value = value.get_mut("result")?.take();
    }
    serde_json::from_value(value).ok()
}

fn assert_same_task(task: &a2a::Task, facts: &TaskFacts, name: &str) {
    let state = serde_json::to_value(&task.status.state).unwrap();
    let state = state.as_str().unwrap().trim_start_matches("TASK_STATE_");
    let artifacts: Vec<_> = task.artifacts.iter().flatten().collect();
    let parts_of_theirs: Vec<_> = artifacts
        .iter()
        .map(|artifact| (Some(artifact.artifact_id.clone()), artifact.parts.len()))
        .collect();
    let parts_of_ours: Vec<_> = facts
        .artifacts
        .iter()
        .map(|artifact| (artifact.artifact_id.clone(), artifact.parts.len()))
        .collect();
    let history = task.history.iter().flatten();

    assert_eq!(Some(&task.id), facts.task_id.as_ref(), "{name}");
    assert_eq!(
        task.context_id,
        facts.context_id.clone().unwrap_or_default(),
        "{name}"
    );
    let ours = facts
        .state
        .as_ref()
        .map(|state| state.name().to_uppercase());
    assert_eq!(Some(state), ours.as_deref(), "{name}");
    assert_eq!(parts_of_theirs, parts_of_ours, "{name}");
    assert_eq!(history.clone().count(), facts.history_count, "{name}");
    for message in history {
        assert!(facts.message_ids.contains(&message.message_id), "{name}");
    }
}

fn assert_same_message(message: &a2a::Message, facts: &MessageFacts, name: &str) {
    assert_eq!(
        Some(&message.message_id),
        facts.message_id.as_ref(),
        "{name}"
    );
    assert_eq!(message.context_id, facts.context_id, "{name}");
    assert_eq!(message.task_id, facts.task_id, "{name}");
    assert_eq!(message.parts.len(), facts.parts.len(), "{name}");
}

#[test]
fn captured_answers_that_the_official_types_take_have_the_same_facts_for_us() {
    let (mut tasks, mut messages) = (0, 0);

    for capture in captures() {
        let Some(binding) = ours(&capture) else {
            continue;
        };
        let (name, answer) = (capture.name, answer(&capture));
        let whole: Option<a2a::SendMessageResponse> = official(&answer.body);
        let response = whole.or_else(|| official(&answer.body).map(a2a::SendMessageResponse::Task));
        let Some(response) = response else {
            continue;
        };
        let reading = read(binding, &operation(name), "1", &answer, &Limits::default());
        let reading = reading.unwrap_or_else(|fault| panic!("{name}: {fault}"));
        match (&response, &reading.reply) {
            (a2a::SendMessageResponse::Task(task), Reply::Task(facts)) => {
                assert_same_task(task, facts, name);
                tasks += 1;
            }
            (a2a::SendMessageResponse::Message(message), Reply::Message(facts)) => {
                assert_same_message(message, facts, name);
                messages += 1;
            }
            (theirs, ours) => panic!("{name}: {theirs:?} and {ours:?}"),
        }
    }

    assert!(
        tasks > 20 && messages > 3,
        "{tasks} tasks, {messages} messages"
    );
}
