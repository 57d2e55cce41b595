//! `retry` of what is over: what was recorded, with the exit code that it had.

use missive_fixtures::{Answer, EchoAgent, refused_url};
use missive_log::event::OperationId;

use super::{World, alias, patient, py, told};
use crate::report::send::Resolution;
use crate::wire::version::Binding;
use crate::{Retry, Send};

/// The operation of the newest event.
async fn newest_operation(world: &World) -> OperationId {
    let events = world.events().await;
    events.last().unwrap().operation.clone().unwrap()
}

fn retry(operation: OperationId) -> Retry {
    Retry {
        operation,
        resend: true,
    }
}

#[tokio::test]
async fn an_operation_that_is_over_is_told_again_with_its_exit_code() {
    let mut said = Vec::new();
    for (text, binding, wait) in [
        ("echo hi", Binding::HttpJson, false),
        ("echo hi", Binding::JsonRpc, false),
        ("task report", Binding::HttpJson, false),
        ("fail", Binding::JsonRpc, false),
        ("ask", Binding::HttpJson, false),
        ("slow 2", Binding::HttpJson, true),
    ] {
        let agent = EchoAgent::start();
        let world = World::new().with_agent(&agent.url()).await;
        let missive = world.missive();
        let mut command = Send::text(py(), text);
        command.binding = Some(binding);
        command.wait = wait;
        command.return_immediately = wait;
        let sent = missive.send(&command, &mut patient()).await.unwrap();
        let operation = OperationId::new(&sent.report.operation_id).unwrap();
        let before = agent.peer().requests().len();

        let again = missive
            .retry(&retry(operation), &mut patient())
            .await
            .unwrap();

        let report = &again.report;
        assert_eq!(report.resolution, Resolution::Recorded);
        assert_eq!(
            serde_json::to_value(&report.answer).unwrap(),
            serde_json::to_value(&sent.report.answer).unwrap()
        );
        assert_eq!(
            report.message_id.as_deref(),
            Some(sent.report.request.message_id.as_str())
        );
        assert_eq!(again.exit, sent.exit);
        assert_eq!(agent.peer().requests().len(), before);
        said.push(format!("{} {:?}", again.exit.number(), report.answer.state));
    }
    insta::assert_snapshot!(said.join("\n"), @r#"
    0 None
    0 None
    0 Some("completed")
    80 Some("failed")
    83 Some("input_required")
    0 Some("completed")
    "#);
}

#[tokio::test]
async fn an_operation_that_failed_is_told_again_with_its_exit_code() {
    let agent = EchoAgent::start();
    let mut said = Vec::new();
    for (answer, url) in [
        (Some(Answer::a2a_error("invalid_params")), agent.url()),
        (Some(Answer::unauthorized("Bearer")), agent.url()),
        (Some(Answer::html()), agent.url()),
        (None, refused_url()),
    ] {
        let world = World::new().with_agent(&agent.url()).await;
        let missive = world.missive();
        let mut command = Send::text(py(), "echo hi");
        match answer {
            Some(answer) => agent.next_send_answers(answer),
            None => command.target = crate::Target::Url(url),
        }
        let first = missive.send(&command, &mut patient()).await.unwrap_err();

        let again = missive
            .retry(&retry(newest_operation(&world).await), &mut patient())
            .await
            .unwrap_err();

        assert_eq!(again.exit(), first.exit());
        let operation = newest_operation(&world).await;
        let told = told(&again).replace(operation.as_str(), "<operation>");
        let shown = told.split(": the card of").next().unwrap_or_default();
        said.push(shown.to_owned());
    }
    insta::assert_snapshot!(said.join("\n"), @r"
    65 recorded operation <operation> failed: the agent answered INVALID_PARAMS: message.parts must not be empty [message.parts: must not be empty]
    77 recorded operation <operation> failed: the agent answered unauthenticated (HTTP 401): unauthorized
    76 recorded operation <operation> failed: the agent's answer is unusable: it is a web page
    69 recorded operation <operation> failed
    ");
}

#[tokio::test]
async fn a_refresh_that_is_over_is_told_again_and_not_repeated() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();
    missive
        .agent_refresh(&alias("py"), &mut patient())
        .await
        .unwrap();

    let again = missive
        .retry(&retry(newest_operation(&world).await), &mut patient())
        .await
        .unwrap();

    assert_eq!(again.report.resolution, Resolution::Recorded);
    assert_eq!(agent.peer().requests().len(), 1);
}
