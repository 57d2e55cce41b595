//! No secret reaches a file of the home or a stream, whichever way it was given.

use crate::TestWorld;
use missive_fixtures::{Answer, EchoAgent, Setup};
use serde_json::json;

#[test]
fn no_secret_is_in_any_file_or_on_any_stream() {
    let agent = EchoAgent::with(Setup {
        bearer: Some("s3cret-of-the-reference".to_owned()),
        ..Setup::default()
    });
    let world = TestWorld::new()
        .with_variable("CRM_TOKEN", "s3cret-of-the-reference")
        .with_variable("PY_TOKEN", "s3cret-of-the-flag");
    let config = format!(
        "schema_version = \"missive.config.v1\"\n[auth_refs.crm]\nkind = \"env\"\nenv = \"CRM_TOKEN\"\n\
         [agents.crm]\nurl = \"{}\"\nauth_ref = \"crm\"\n",
        agent.url()
    );
    world.file("c.toml", &config);
    // An agent that says back what it was sent.
    let echoing = Answer::by(|seen| {
        let given =
            [seen.header("authorization"), seen.header("x-api-key")].map(Option::unwrap_or_default);
        Answer::json(
            401,
            &json!({"error": format!("no, {}", given.join(" and "))}),
        )
    });
    let url = agent.url();
    let with_password = url.replace("http://", "http://me:s3cret-of-the-url@");
    let with_query = format!("{url}/?api_key=s3cret-of-the-query");
    let mut shown = String::new();

    let lines = [
        "send crm echo&findable-words --config c.toml --trace".to_owned(),
        "send crm hi --config c.toml --header X-Api-Key:&s3cret-of-a-header -vv".to_owned(),
        format!("send {url} hi --bearer-token-env PY_TOKEN --json"),
        format!("send {url} hi --header Authorization:&Basic&s3cret-of-a-header"),
        format!("send {with_password} hi"),
        format!("agent add pw {with_password}"),
        format!("agent add query {with_query} --json"),
    ];
    for line in lines {
        agent
            .peer()
            .once("POST", "/rest/message:send", echoing.clone());
        let words: Vec<String> = line.split(' ').map(|word| word.replace('&', " ")).collect();
        for _ in 0..2 {
            let run = world.missive(words.iter().map(String::as_str));
            shown.push_str(&run.to_string());
        }
    }

    assert!(!shown.contains("s3cret"), "{shown}");
    let files = files_below(&world.missive_home());
    assert!(
        files
            .iter()
            .any(|(_, bytes)| holds(bytes, "findable-words"))
    );
    for (path, bytes) in files {
        assert!(!holds(&bytes, "s3cret"), "{path}");
    }
}

#[test]
fn a_secret_that_the_command_does_not_use_is_not_recorded_when_it_is_typed() {
    let world = TestWorld::new().with_variable("CRM_TOKEN", "s3cret_of_the_reference");
    let config = "schema_version = \"missive.config.v1\"\n\
                  [auth_refs.crm]\nkind = \"env\"\nenv = \"CRM_TOKEN\"\n";
    world.file("c.toml", config);
    let note = "findable-words s3cret_of_the_reference";
    let add = ["agent", "add", "py", "http://127.0.0.1:1", "--notes", note];

    let added = world.missive(add.into_iter().chain(["--config", "c.toml"]));
    let pattern = "s3cret_of_the_reference.*";
    let export = ["events", "export", "--type", pattern, "--config", "c.toml"];
    let exported = world.missive(export);

    assert_eq!(
        (added.code, exported.code),
        (Some(0), Some(66)),
        "{added}{exported}"
    );
    assert!(!added.stdout.contains("s3cret"), "{added}");
    let files = files_below(&world.missive_home());
    assert!(
        files
            .iter()
            .any(|(_, bytes)| holds(bytes, "findable-words"))
    );
    for (path, bytes) in files {
        assert!(!holds(&bytes, "s3cret"), "{path}");
    }
}

fn holds(bytes: &[u8], words: &str) -> bool {
    bytes
        .windows(words.len())
        .any(|window| window == words.as_bytes())
}

/// Every file with its content; all of them are their owner's alone.
fn files_below(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    use std::os::unix::fs::PermissionsExt as _;

    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
    found
}
