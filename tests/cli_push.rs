//! `missive push` and `missive webhook run`, as a person and as a sender see them.

use crate::TestWorld;
use missive_fixtures::{Answer, ScriptedPeer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

const CONFIGS: &str = "/rest/tasks/t-1/pushNotificationConfigs";
const TOKEN: &str = "tok-7f3a91";

fn world_with(peer: &ScriptedPeer) -> TestWorld {
    let world = TestWorld::new()
        .with_variable("HOOK_TOKEN", TOKEN)
        .with_variable("HOOK_CREDENTIALS", "cred-52be");
    world.missive(["agent", "add", "py", &peer.url()]);
    world
}

#[test]
fn a_configuration_is_made_looked_at_and_taken_away_and_its_secrets_are_nowhere() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"pushNotifications": true}}));
    let config = json!({
        "id": "c-1", "taskId": "t-1", "url": "https://me.example/a2a/push?api_key=k-99aa7",
        "token": TOKEN, "authentication": {"scheme": "Bearer", "credentials": "cred-52be"},
    });
    peer.on("POST", CONFIGS, Answer::json(201, &config));
    peer.on("GET", &format!("{CONFIGS}/c-1"), Answer::json(200, &config));
    peer.on(
        "GET",
        CONFIGS,
        Answer::json(200, &json!({"configs": [config]})),
    );
    peer.on("DELETE", &format!("{CONFIGS}/c-1"), Answer::status(204));
    let world = world_with(&peer);
    let url = "https://me.example/a2a/push?api_key=k-99aa7";

    let runs = [
        world.missive([
            "push",
            "create",
            "py",
            "t-1",
            url,
            "--token-env",
            "HOOK_TOKEN",
            "--auth-scheme",
            "Bearer",
            "--auth-credentials-env",
            "HOOK_CREDENTIALS",
        ]),
        world.missive(["push", "get", "py", "t-1", "c-1"]),
        world.missive(["push", "list", "py", "t-1"]),
        world.missive(["push", "delete", "py", "t-1", "c-1"]),
        world.missive(["push", "list", "py", "t-1", "--json"]),
    ];

    let people: String = runs[..4].iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(people, @r"
    exit 0
    ------- stdout -------
    config  c-1
    task    t-1
    agent   py
    url     https://me.example/a2a/push?api_key=[redacted:1]
    token   yes
    auth    Bearer (with credentials)
    exit 0
    ------- stdout -------
    config  c-1
    task    t-1
    agent   py
    url     https://me.example/a2a/push?api_key=[redacted:1]
    token   yes
    auth    Bearer (with credentials)
    exit 0
    ------- stdout -------
    config  url                                               token  auth
    c-1     https://me.example/a2a/push?api_key=[redacted:1]  yes    Bearer
    exit 0
    ------- stdout -------
    py pushes no more to configuration c-1 of task t-1
    ");
    let listed = runs[4].json();
    assert_eq!(listed["kind"], "push_list");
    assert_eq!(listed["data"]["configs"][0]["config_id"], "c-1");
    let export = world.missive(["events", "export"]);
    for text in [people, runs[4].stdout.clone(), export.stdout] {
        for secret in [TOKEN, "cred-52be", "k-99aa7"] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
    }
}

#[test]
fn what_cannot_be_pushed_is_refused_before_any_request() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    let world = world_with(&peer);
    let create = |more: &[&'static str]| {
        let mut words = vec!["push", "create", "py", "t-1", "https://me.example/p"];
        words.extend(more);
        world.missive(words).to_string()
    };

    let told = [
        create(&[]),
        create(&["--token-env", "NO_SUCH_TOKEN"]),
        create(&["--auth-credentials-env", "HOOK_CREDENTIALS"]),
        world
            .missive(["push", "create", "py", "t-1", "https://u:p@me.example/"])
            .to_string(),
    ];

    insta::assert_snapshot!(told.concat(), @r"
    exit 76
    ------- stderr -------
    missive: py does not push notifications, says its card at http://127.0.0.1:[PORT]/.well-known/agent-card.json
    hint: `missive task get TASK` shows what the log knows; `missive agent refresh py` fetches the card again, should it be out of date
    exit 77
    ------- stderr -------
    missive: the variable NO_SUCH_TOKEN, which --token-env names, is not set
    hint: set it in the environment of the command
    exit 64
    ------- stderr -------
    missive: --auth-scheme <SCHEME> is missing
    hint: see `missive push create --help`
    exit 64
    ------- stderr -------
    missive: the URL holds credentials
    hint: the URL of a receiver holds no credentials: those have --token-env and --auth-scheme
    ");
    assert!(peer.requests_to("POST", CONFIGS).is_empty());
}

/// A receiver in a process of its own.
struct Receiver {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    address: String,
}

impl Receiver {
    fn start(world: &TestWorld, more: &[&'static str]) -> Self {
        let mut words = vec!["webhook", "run", "--port", "0", "--ndjson"];
        words.extend(["--auth-token-env", "HOOK_TOKEN"]);
        words.extend(more);
        let mut command = world.command(words);
        // Real time and randomness: identifiers of seeded runs follow from the log alone.
        command
            .env_remove("MISSIVE_TEST_CLOCK")
            .env_remove("MISSIVE_TEST_SEED");
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("missive starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a piped output"));
        let started = line(&mut lines);
        assert_eq!(started["kind"], "webhook_started");
        let url = started["data"]["url"].as_str().expect("a URL").to_owned();
        let address = url.trim_start_matches("http://");
        let address = address.split('/').next().unwrap_or_default().to_owned();
        Self {
            child,
            lines,
            address,
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        kill_process(Pid::from_raw(pid).expect("a process"), signal).expect("a signal");
    }

    /// The lines that are left, and how it ended.
    fn end(mut self) -> (Vec<Value>, Option<i32>) {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).expect("lines");
        let lines = rest
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        let lines = lines.collect();
        (lines, self.child.wait().expect("missive ends").code())
    }
}

fn line(lines: &mut impl BufRead) -> Value {
    let mut line = String::new();
    lines.read_line(&mut line).expect("a line");
    serde_json::from_str(&line).expect("a line of JSON")
}

/// Delivers a status update on a connection that stays; the status of the answer, 0 if none came.
fn deliver(stream: &mut TcpStream, text: &str) -> u16 {
    let body = json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": {
        "state": "TASK_STATE_WORKING",
        "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": text}]},
    }}})
    .to_string();
    let request = format!(
        "POST /a2a/push HTTP/1.1\r\nHost: h\r\nContent-Type: application/a2a+json\r\n\
         X-A2A-Notification-Token: {TOKEN}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    if stream.write_all(request.as_bytes()).is_err() {
        return 0;
    }
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            Ok(_) | Err(_) => return 0,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    head.split(' ')
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or(0)
}

#[test]
fn a_receiver_tells_what_it_takes_and_ends_after_as_many_as_it_should() {
    let world = TestWorld::new().with_variable("HOOK_TOKEN", TOKEN);
    let receiver = Receiver::start(&world, &["--max-events", "2"]);
    let mut stream = TcpStream::connect(&receiver.address).expect("a connection");

    let answers = [deliver(&mut stream, "one"), deliver(&mut stream, "two")];
    let (lines, code) = receiver.end();

    assert_eq!((answers, code), ([202, 202], Some(0)));
    let kinds: Vec<_> = lines.iter().map(|line| line["kind"].clone()).collect();
    assert_eq!(kinds, ["webhook_event", "webhook_event", "webhook_stopped"]);
    assert_eq!(lines[1]["data"]["text"], "two");
    assert_eq!(lines[1]["data"]["linked"], false);
    assert_eq!(lines[2]["data"]["end"], "max_events");
    let export = world.missive(["events", "export"]).stdout;
    assert!(!export.contains(TOKEN) && export.contains("missive.webhook.stopped"));
}

#[test]
fn a_receiver_that_is_told_to_end_says_what_it_took() {
    let world = TestWorld::new().with_variable("HOOK_TOKEN", TOKEN);
    let mut receiver = Receiver::start(&world, &[]);
    let mut stream = TcpStream::connect(&receiver.address).expect("a connection");
    assert_eq!(deliver(&mut stream, "one"), 202);
    assert_eq!(line(&mut receiver.lines)["kind"], "webhook_event");

    receiver.signal(Signal::TERM);
    let (lines, code) = receiver.end();

    assert_eq!(code, Some(143));
    let stopped = &lines.last().expect("a last line")["data"];
    assert_eq!(
        (&stopped["end"], &stopped["accepted"]),
        (&json!("interrupted"), &json!(1))
    );
}

#[test]
fn a_port_that_is_taken_changes_nothing() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let world = TestWorld::new();

    let run = world.missive(["webhook", "run", "--port", &port]);

    insta::assert_snapshot!(run, @r"
    exit 74
    ------- stderr -------
    missive: 127.0.0.1:[PORT] cannot be listened on
    caused by: Address already in use (os error 98)
    hint: something listens there already: choose another --port, or 0 for any
    ");
    assert!(!world.missive_home().exists());
}

#[test]
fn what_a_killed_receiver_had_acknowledged_is_in_the_log() {
    let world = TestWorld::new().with_variable("HOOK_TOKEN", TOKEN);
    let receiver = Receiver::start(&world, &["--quiet"]);
    let mut lines = receiver.lines;
    let reading = std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
    let senders = (0..8).map(|sender| {
        let address = receiver.address.clone();
        std::thread::spawn(move || {
            let mut stream = TcpStream::connect(address).expect("a connection");
            let mut acknowledged = Vec::new();
            for number in 0.. {
                let text = format!("delivery {sender}.{number}.");
                match deliver(&mut stream, &text) {
                    202 => acknowledged.push(text),
                    _ => break,
                }
            }
            acknowledged
        })
    });
    let senders: Vec<_> = senders.collect();
    let mut child = receiver.child;

    let mut own = TcpStream::connect(&receiver.address).expect("a connection");
    for number in 0..40 {
        assert_eq!(deliver(&mut own, &format!("own {number}")), 202);
    }
    child.kill().expect("a kill");
    child.wait().expect("an end");
    reading.join().expect("a reader").expect("lines");

    let acknowledged = senders
        .into_iter()
        .flat_map(|sender| sender.join().expect("a sender"));
    let acknowledged: Vec<String> = acknowledged.collect();
    assert!(acknowledged.len() >= 8);
    assert_eq!(world.missive(["events", "verify"]).code, Some(0));
    let export = world.missive(["events", "export"]).stdout;
    for text in acknowledged {
        assert!(
            export.contains(&text),
            "{text} was acknowledged and is gone"
        );
    }
}
