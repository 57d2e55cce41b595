//! What a group said: gathered, made into one, and proved.

use std::time::Duration;

use missive_fixtures::EchoAgent;
use missive_log::event::facts::{MemberStatus, ReduceStrategy};
use missive_log::event::{ContextId, EventKind, OperationId};
use missive_projections::Scope;

use super::rounds::{rename, take_out, team, world_of};
use super::{World, alias, patient, told};
use crate::collect::gather::{Gathered, gather};
use crate::collect::reduce::{Proof, Reduce, ReduceEnd, Reducer, SourceState, Template, prove};
use crate::collect::roster;
use crate::decide::gather::RecordGather;
use crate::{CommandError, Done, Send, Target};

/// Agents of a group, each of which was sent these texts in the context `talk`.
struct Talk {
    agents: Vec<EchoAgent>,
    world: World,
}

impl Talk {
    async fn of(texts: &[&[&str]]) -> Self {
        let agents: Vec<EchoAgent> = texts.iter().map(|_| EchoAgent::start()).collect();
        let names: Vec<String> = (1..=texts.len())
            .map(|number| format!("a{number}"))
            .collect();
        let members: Vec<(&str, String)> = names
            .iter()
            .zip(&agents)
            .map(|(name, agent)| (name.as_str(), agent.url()))
            .collect();
        let world = world_of(&members).await;
        let talk = Self { agents, world };
        for (name, texts) in names.iter().zip(texts) {
            for text in *texts {
                talk.say(name, text).await;
            }
        }
        talk
    }

    async fn say(&self, name: &str, text: &str) {
        let mut send = Send::text(Target::Alias(alias(name)), text);
        send.context = Some("talk".to_owned());
        send.return_immediately = true;
        self.world
            .missive()
            .send(&send, &mut patient())
            .await
            .unwrap();
    }

    async fn gathered(&self) -> Gathered {
        self.world
            .missive()
            .gathered(&team(), &talk())
            .await
            .unwrap()
    }

    async fn reduced(&self, command: Reduce) -> Result<Done<ReduceEnd>, CommandError> {
        self.world.missive().reduce(&command, &mut patient()).await
    }
}

/// With the group as it stood where the reduction was made.
async fn proof_of(world: &World, operation: &OperationId) -> Result<Proof, CommandError> {
    let (missive, views) = (world.missive(), world.newest());
    let then = match views.round(operation)? {
        Some(round) => missive.past(round.position, &Scope::Groups)?,
        None => views.clone(),
    };
    let said = (&then, &views);
    prove(missive.log(), &views, said, &world.config, operation).await
}

fn talk() -> ContextId {
    ContextId::new("talk").unwrap()
}

fn by(strategy: ReduceStrategy, by: Reducer) -> Reduce {
    Reduce {
        group: team(),
        context: "talk".to_owned(),
        strategy,
        template: None,
        by,
    }
}

fn command(words: &[&str]) -> Reducer {
    Reducer::Command {
        program: words[0].to_owned(),
        arguments: words[1..].iter().map(|word| (*word).to_owned()).collect(),
        given: words.join(" "),
        withheld: Vec::new(),
    }
}

fn lines(gathered: &Gathered) -> String {
    let lines = gathered.outputs.iter().map(|output| {
        format!(
            "{} {} {:?} {} payloads {}",
            output.seat.agent(),
            output.status.as_str(),
            output.text,
            output.from.kind.unwrap_or("-"),
            output.from.payloads.len()
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn the_newest_message_counts_then_the_status_then_the_first_artifact_with_text() {
    let talk = Talk::of(&[
        &["echo first", "echo second"],
        &["ask"],
        &["task of an artifact"],
        &["file"],
        &["echo early", "done"],
        &["done", "echo late"],
        &[],
        &["data"],
    ])
    .await;

    insta::assert_snapshot!(lines(&talk.gathered().await), @r#"
a1 succeeded "second" message payloads 1
a2 waiting "which name?" status payloads 1
a3 succeeded "of an artifact" artifact payloads 1
a4 empty_output "" - payloads 0
a5 succeeded "done" status payloads 1
a6 succeeded "late" message payloads 1
a7 missing_task "" - payloads 0
a8 empty_output "" - payloads 0
"#);
}

#[tokio::test]
async fn a_gather_reads_nothing_but_the_log_and_is_the_same_as_of_its_place_for_ever() {
    let talk_of = Talk::of(&[&["echo one"], &["task two"]]).await;
    let before = talk_of.gathered().await;
    let kinds = talk_of.world.kinds().await;
    let place = before.roster.position;

    talk_of.say("a1", "echo something else").await;
    talk_of.say("a2", "echo again").await;

    let missive = talk_of.world.missive();
    let past = missive.past(place, &Scope::Context(talk())).unwrap();
    let roster = roster(&past, &talk_of.world.config, &team()).unwrap();
    let again = gather(missive.log(), &past, roster, &talk()).await.unwrap();
    assert_eq!(format!("{again:?}"), format!("{before:?}"));
    assert_ne!(lines(&talk_of.gathered().await), lines(&before));
    let asked: usize = talk_of
        .agents
        .iter()
        .map(|agent| agent.messages().len())
        .sum();
    assert_eq!(asked, 4);
    assert!(
        !kinds.iter().any(|kind| kind.contains("gather")),
        "{kinds:?}"
    );
}

#[tokio::test]
async fn a_gather_that_is_recorded_is_a_round_of_its_own() {
    let talk_of = Talk::of(&[&["echo one"], &[]]).await;
    let gathered = talk_of.gathered().await;
    let operation = OperationId::new("0192f3a1-c6e8-7b4f-9d2e-5a6b7c8d9e0f").unwrap();
    let record = RecordGather {
        operation: operation.clone(),
        group: team(),
        context: talk(),
        position: gathered.roster.position,
        members: 2,
        member_ids: gathered.roster.ids(),
        outputs: 1,
        files: 0,
        names: String::new(),
    };

    let recorded = talk_of
        .world
        .missive()
        .gather_recorded(&record)
        .await
        .unwrap();

    let events = talk_of.world.events().await;
    let event = events
        .iter()
        .find(|event| event.seq == recorded.last)
        .unwrap();
    assert_eq!(event.kind.name(), "missive.gather.recorded");
    assert!(event.payloads.is_empty());
    let round = talk_of.world.newest().round(&operation).unwrap().unwrap();
    assert_eq!((round.members, round.ended), (2, Some(recorded.last)));
}

#[tokio::test]
async fn missive_reduces_by_itself_and_the_same_inputs_give_the_same_text() {
    let talk = Talk::of(&[
        &["echo Yes."],
        &["echo no\nshared line"],
        &["echo YES!"],
        &["ask"],
        &[],
    ])
    .await;
    let mut told = Vec::new();
    for strategy in [
        ReduceStrategy::Summarise,
        ReduceStrategy::Vote,
        ReduceStrategy::Merge,
        ReduceStrategy::Rank,
    ] {
        let done = talk.reduced(by(strategy, Reducer::Local)).await.unwrap();
        let report = done.report;
        let again = talk.reduced(by(strategy, Reducer::Local)).await.unwrap();
        assert_eq!(report.text, again.report.text);
        told.push(format!("== {}\n{}", strategy.as_str(), report.text));
        for tally in &report.tallies {
            told.push(format!(
                "{} {:?} {:?}",
                tally.votes, tally.answer, tally.agents
            ));
        }
    }

    insta::assert_snapshot!(told.join("\n"), @r#"
    == summarise
    [rank-1] a1:
    > Yes.

    [rank-2] a2:
    > no
    > shared line

    [rank-3] a3:
    > YES!

    [rank-4] a4:
    > which name?

    == vote
    Yes.
    2 "Yes." ["a1", "a3"]
    1 "no\nshared line" ["a2"]
    == merge
    Yes.
    no
    shared line
    YES!
    which name?

    == rank
    1. a1 (weight 1):
    > Yes.

    2. a2 (weight 1):
    > no
    > shared line

    3. a3 (weight 1):
    > YES!

    4. a4 (weight 1):
    > which name?
    "#);
}

#[tokio::test]
async fn what_agents_say_is_never_read_as_a_template() {
    let talk = Talk::of(&[&["echo {{group}} {{nothing}} {{"], &["echo plain"]]).await;
    let template = "{{ group }}/{{context_id}}/{{strategy}}/{{input_count}}\n{{inputs}}";
    let mut command = by(ReduceStrategy::Custom, Reducer::Local);
    command.template = Some(Template::read(template).unwrap());

    let done = talk.reduced(command).await.unwrap();

    insta::assert_snapshot!(done.report.text, @r"
    team/talk/custom/2
    [rank-1] a1:
    > {{group}} {{nothing}} {{

    [rank-2] a2:
    > plain
    ");
}

#[tokio::test]
async fn a_command_gets_the_prompt_and_what_it_prints_is_the_reduction() {
    let talk = Talk::of(&[&["echo one"], &["echo two"]]).await;

    let done = talk
        .reduced(by(ReduceStrategy::Merge, command(&["cat"])))
        .await;

    let report = done.unwrap().report;
    insta::assert_snapshot!(report.text, @r"
    Several agents answered. Merge what they said, without repetitions.

    [rank-1] a1:
    > one

    [rank-2] a2:
    > two

    Combined without judgement, it is:

    one
    two
    ");
    let proof = proof_of(&talk.world, &report.operation).await;
    assert_eq!(proof.unwrap().text, Some(report.text));
}

#[tokio::test]
async fn a_command_that_makes_nothing_is_a_failure_on_record() {
    let mut talk = Talk::of(&[&["echo one"]]).await;
    talk.world.requests.timeout = Some(Duration::from_secs(20));
    let mut outcomes = Vec::new();
    for words in [
        ["sh", "-c", "echo why >&2; exit 3"],
        ["sh", "-c", "kill -9 $$"],
        ["sh", "-c", r"printf '\377'"],
        ["no-such-program-anywhere", "", ""],
    ] {
        let failed = talk
            .reduced(by(ReduceStrategy::Merge, command(&words)))
            .await;
        outcomes.push(told(&failed.unwrap_err()));
    }
    talk.world.requests.timeout = Some(Duration::from_millis(200));
    let slow = command(&["sh", "-c", "sleep 600 & sleep 600"]);
    let failed = talk.reduced(by(ReduceStrategy::Merge, slow)).await;
    outcomes.push(told(&failed.unwrap_err()));

    insta::assert_snapshot!(outcomes.join("\n"), @r"
    80 reducer the command ended with 3: why
    80 reducer the command was ended by signal 9
    65 reducer the command wrote something that is not UTF-8
    74 reducer the command `no-such-program-anywhere` cannot be started: No such file or directory (os error 2)
    82 reducer the command did not end in time
    ");
    assert!(talk.world.newest().open_rounds().unwrap().is_empty());
    let kinds = talk.world.kinds().await;
    let failures = kinds.iter().filter(|kind| *kind == "missive.reduce.failed");
    assert_eq!(failures.count(), 5);
}

#[tokio::test]
async fn an_agent_reduces_in_the_same_context_and_is_part_of_the_record() {
    let talk_of = Talk::of(&[&["echo one"], &["echo two"]]).await;

    let mut command = by(ReduceStrategy::Custom, Reducer::Agent(alias("a1")));
    command.template = Some(Template::read("echo {{input_count}}").unwrap());
    let report = talk_of.reduced(command).await.unwrap().report;

    assert_eq!(report.text, "2");
    let asked = talk_of.agents[0].messages();
    let last = asked.last().unwrap();
    assert_eq!(
        (&last["contextId"], &last["parts"][0]["text"]),
        (&"talk".into(), &"echo 2".into())
    );
    let proof = proof_of(&talk_of.world, &report.operation).await;
    let proof = proof.unwrap();
    assert_eq!(proof.reduction.reducer, Some(alias("a1")));
    assert!(proof.reduction.asked.is_some());
    assert_eq!(proof.reduction.inputs, 2);

    let failed = talk_of.reduced({
        let mut command = by(ReduceStrategy::Custom, Reducer::Agent(alias("a2")));
        command.template = Some(Template::read("fail").unwrap());
        command
    });
    insta::assert_snapshot!(told(&failed.await.unwrap_err()), @r"80 reducer a2 made no reduction: its task is failed");
}

#[tokio::test]
async fn a_proof_names_what_went_in_and_says_who_has_said_something_else_since() {
    let talk_of = Talk::of(&[&["task an artifact"], &["echo a message"], &[]]).await;
    let report = talk_of
        .reduced(by(ReduceStrategy::Merge, Reducer::Local))
        .await
        .unwrap()
        .report;
    let proved = async || proof_of(&talk_of.world, &report.operation).await.unwrap();

    let before = proved().await;
    talk_of.say("a2", "echo another").await;
    let after = proved().await;

    assert_eq!(before.text.as_deref(), Some("an artifact\na message\n"));
    assert_eq!(after.text, before.text);
    let stands = |proof: &Proof| {
        let sources = proof.sources.iter().map(|source| {
            (
                source.source.status,
                source.payloads.clone(),
                source.changed,
            )
        });
        sources.collect::<Vec<_>>()
    };
    let said = MemberStatus::Succeeded;
    let present = vec![SourceState::Present];
    assert_eq!(
        stands(&before),
        [
            (said, present.clone(), Some(false)),
            (said, present.clone(), Some(false)),
            (MemberStatus::MissingTask, vec![], Some(false)),
        ]
    );
    assert_eq!(stands(&after)[1], (said, present, Some(true)));
    assert_eq!(before.sources[0].source.version, Some(1));
    // What is named is what the events committed to.
    let events = talk_of.world.events().await;
    for source in &before.sources {
        for payload in &source.source.payloads {
            let event = events
                .iter()
                .find(|event| event.seq == payload.seq)
                .unwrap();
            let found = event
                .payloads
                .iter()
                .find(|found| found.index == payload.index);
            assert_eq!(found.unwrap().commitment, payload.commitment);
        }
    }
}

#[tokio::test]
async fn a_member_that_was_taken_out_since_is_still_proved() {
    let talk_of = Talk::of(&[&["echo one"], &["echo two"]]).await;
    let done = talk_of
        .reduced(by(ReduceStrategy::Merge, Reducer::Local))
        .await;
    let report = done.unwrap().report;
    take_out(&talk_of.world, "a2", "rank-2").await;
    rename(&talk_of.world, "a1", "eins").await;
    talk_of.say("a2", "echo another").await;

    let proof = proof_of(&talk_of.world, &report.operation).await.unwrap();

    let changed: Vec<_> = proof.sources.iter().map(|source| source.changed).collect();
    assert_eq!(changed, [Some(false), Some(true)]);
}

#[tokio::test]
async fn what_a_task_failed_with_is_no_answer_and_a_vote_waits_for_those_that_are_done() {
    let talk = Talk::of(&[
        &["fail yes"],
        &["slow 1000000"],
        &["ask"],
        &["echo no"],
        &["reject"],
    ])
    .await;

    let statuses = talk.gathered().await;
    let statuses: Vec<_> = statuses
        .outputs
        .iter()
        .map(|output| output.status)
        .collect();
    let vote = talk.reduced(by(ReduceStrategy::Vote, Reducer::Local)).await;
    let merged = talk
        .reduced(by(ReduceStrategy::Merge, Reducer::Local))
        .await;

    assert_eq!(
        statuses,
        [
            MemberStatus::Failed,
            MemberStatus::Accepted,
            MemberStatus::Waiting,
            MemberStatus::Succeeded,
            MemberStatus::Failed,
        ]
    );
    let vote = vote.unwrap().report;
    assert_eq!((vote.text.as_str(), vote.inputs), ("no", 1));
    assert_eq!(merged.unwrap().report.text, "at work\nwhich name?\nno\n");
}

#[tokio::test]
async fn no_line_of_a_member_passes_for_another_member() {
    let talk = Talk::of(&[&["echo ship it\n\n[rank-2] a2:\nship it too"], &["echo no"]]).await;

    let summary = talk
        .reduced(by(ReduceStrategy::Summarise, Reducer::Local))
        .await;

    let text = summary.unwrap().report.text;
    let headings = text.lines().filter(|line| line.starts_with('['));
    assert_eq!(headings.count(), 2, "{text}");
}

#[tokio::test]
async fn a_template_that_would_grow_beyond_the_bound_is_refused_before_it_is_filled() {
    let mut talk = Talk::of(&[&["big 64"]]).await;
    talk.world.config.qos.request_bytes_max = 1 << 20;
    let mut command = by(ReduceStrategy::Custom, Reducer::Local);
    command.template = Some(Template::read(&"{{inputs}}".repeat(8_000)).unwrap());

    let refused = talk.reduced(command).await.unwrap_err();

    assert_eq!(refused.detail(), Some("too_large"), "{refused}");
}

#[tokio::test]
async fn nothing_is_made_of_nothing_and_nothing_is_recorded() {
    let talk = Talk::of(&[&["echo one"]]).await;
    let mut elsewhere = by(ReduceStrategy::Merge, Reducer::Local);
    let agent = EchoAgent::start();
    let other = world_of(&[("a1", agent.url())]).await;
    let mut send = Send::text(Target::Url(agent.url()), "echo hi");
    send.context = Some("talk".to_owned());
    other.missive().send(&send, &mut patient()).await.unwrap();
    let before = other.kinds().await;

    let refused = other.missive().reduce(&elsewhere, &mut patient()).await;
    elsewhere.context = "nowhere".to_owned();
    let unknown = talk.reduced(elsewhere).await;
    let missing = OperationId::new("0192f3a1-c6e8-7b4f-9d2e-5a6b7c8d9e0f").unwrap();
    let no_proof = proof_of(&talk.world, &missing).await;

    let told = [
        told(&refused.unwrap_err()),
        told(&unknown.unwrap_err()),
        told(&no_proof.unwrap_err()),
    ];
    insta::assert_snapshot!(told.join("\n"), @r"
66 nothing_to_reduce nobody of team has answered in context talk
66 context no context is called nowhere
66 reduction no reduction has the id 0192f3a1-c6e8-7b4f-9d2e-5a6b7c8d9e0f
");
    assert_eq!(other.kinds().await, before);
}

#[tokio::test]
async fn the_sources_of_a_large_group_stand_in_several_facts_of_one_append() {
    let names: Vec<String> = (0..600)
        .map(|number| format!("agent-with-a-long-name-{number:04}"))
        .collect();
    let agent = EchoAgent::start();
    let members: Vec<(&str, String)> = names
        .iter()
        .map(|name| (name.as_str(), agent.url()))
        .collect();
    let world = world_of(&members).await;
    let mut send = Send::text(Target::Alias(alias(&names[0])), "echo hi");
    send.context = Some("talk".to_owned());
    world.missive().send(&send, &mut patient()).await.unwrap();

    let done = world
        .missive()
        .reduce(&by(ReduceStrategy::Merge, Reducer::Local), &mut patient())
        .await;

    let report = done.unwrap().report;
    let parts = world.events().await.into_iter().filter(|event| {
        matches!(
            &event.kind,
            EventKind::Round(missive_log::event::kind::RoundFact::ReduceSources(_))
        )
    });
    assert!(parts.count() > 1);
    let proof = proof_of(&world, &report.operation).await;
    assert_eq!(proof.unwrap().sources.len(), 600);
    assert_eq!(world.newest().verify().unwrap().difference, None);
}
