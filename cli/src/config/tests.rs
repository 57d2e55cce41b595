//! What a configuration file may say, and what is said about one that is wrong.

use super::{Config, find, read, walk};
use crate::args::global::Globals;
use crate::environment::Environment;
use crate::render::{Mode, failure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

fn parsed(text: &str) -> Result<Config, crate::failure::Failure> {
    read::config(&walk::Source {
        name: "c.toml".to_owned(),
        text,
        folder: PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/wire/signed"),
    })
}

/// The failure of a file that begins with a valid line.
fn refused(rest: &str) -> String {
    let text = format!("schema_version = \"missive.config.v1\"\n{rest}");
    failure(&parsed(&text).unwrap_err(), Mode::Human, 0, false)
}

#[test]
fn a_full_file_says_everything_there_is_to_say() {
    let config = parsed(
        r#"
        schema_version = "missive.config.v1"
        default_profile = "work"
        [protocol]
        version = "1.0"
        extensions = ["https://x.example/ext/v1"]
        binding_preference = ["json-rpc"]
        service_params = { "X-Team" = "blue" }
        [qos]
        connect_timeout = "3s"
        total_timeout = "1h"
        retries = 0
        max_response_bytes = 1_000_000
        [profiles.work.qos]
        connect_timeout = "1s"
        [auth_refs.crm]
        kind = "env"
        env = "CRM_TOKEN"
        [auth_refs.old]
        kind = "keyring"
        service = "missive"
        account = "old"
        header = "X-Api-Key"
        [agents.crm]
        url = "https://crm.example"
        auth_ref = "crm"
        tags = ["sales"]
        interfaces = { "http+json" = "https://crm.example/a2a" }
        metadata = { owner = "sales" }
        [output]
        format = "ndjson"
        color = false
        [gateway]
        port = 8000
        [routing]
        policy = "round-robin"
        [adapters.lint]
        kind = "stdio"
        command = ["lint", "--agent"]
        [log]
        cache_bytes = 8_388_608
        "#,
    )
    .unwrap();

    insta::assert_debug_snapshot!(config);
    assert_eq!(config.qos_of("work").connect_timeout.as_secs(), 1);
    assert_eq!(
        config
            .qos_of("work")
            .total_timeout
            .map(|time| time.as_secs()),
        Some(3600)
    );
    assert_eq!(config.qos_of("other").connect_timeout.as_secs(), 3);
}

#[test]
fn the_example_of_the_document_is_a_file_that_is_read() {
    let page = include_str!("../../../docs/configuration.md");
    let example = page.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();

    let config = parsed(example).unwrap();

    assert_eq!(config.default_profile.as_deref(), Some("work"));
    let seed = config.agents.get("crm").unwrap();
    assert_eq!(
        (&*seed.url, seed.auth_ref.as_deref()),
        ("https://crm.example", Some("crm"))
    );
    let (slow, other) = (config.qos_of("slow"), config.qos_of("work"));
    let total = [slow, other].map(|qos| qos.total_timeout.map(|time| time.as_secs()));
    assert_eq!(total, [Some(7200), Some(600)]);
    assert_eq!(slow.connect_timeout.as_secs(), 3);
}

#[test]
fn who_may_sign_a_card_is_read_with_the_keys_of_the_files() {
    let trust = "schema_version = \"missive.config.v1\"\n[trust.py]\n\
                 card_keys = [\"keys_of_python_sdk.json\"]\nkey_origins = [\"https://keys.example:443/\"]\n";

    let config = parsed(trust).unwrap();

    let of_py = &config.trust["py"];
    let names: Vec<_> = of_py.keys.iter().map(|key| key.kid.as_deref()).collect();
    assert_eq!(names, [Some("es"), Some("ed"), Some("rs")]);
    assert_eq!(of_py.origins, ["https://keys.example"]);
    insta::assert_snapshot!(refused("[trust.py]\nkey_origins = [\"http://keys.example\"]"), @"missive: c.toml:3: `trust.py.key_origins`: `http://keys.example`: keys come over https, or over http from this machine");
    insta::assert_snapshot!(refused("[trust.py]\nkeys = []"), @r"
    missive: c.toml:3: unknown key `trust.py.keys`
    hint: known keys are `card_keys` and `key_origins`
    ");
}

#[test]
fn an_unknown_key_is_named_with_file_line_and_nearest_valid_key() {
    insta::assert_snapshot!(refused("\n[qos]\nconect_timeout = \"3s\""), @r"
    missive: c.toml:4: unknown key `qos.conect_timeout`
    hint: did you mean `connect_timeout`?
    ");
    insta::assert_snapshot!(refused("[agent.ada]\nurl = \"http://h\""), @r"
    missive: c.toml:2: unknown key `agent`
    hint: did you mean `agents`?
    ");
    insta::assert_snapshot!(refused("[profiles.work]\nlog = 1"), @r"
    missive: c.toml:3: unknown key `profiles.work.log`
    hint: known keys are `protocol` and `qos`
    ");
}

#[test]
fn a_wrong_value_is_named_with_its_line_and_what_is_valid() {
    insta::assert_snapshot!(refused("[qos]\nretries = \"2\""), @"missive: c.toml:3: `qos.retries` must be a whole number from 0 to 100, and is a string here");
    insta::assert_snapshot!(refused("[qos]\nidle_timeout = \"30\""), @"missive: c.toml:3: `qos.idle_timeout`: a duration needs a unit, such as `500ms`, `30s`, `2m` or `1h`");
    insta::assert_snapshot!(refused("[output]\nformat = \"jsn\""), @r"
    missive: c.toml:3: `output.format`: `jsn` is not a valid value
    hint: did you mean `json`?
    ");
    insta::assert_snapshot!(refused("[protocol]\nbinding_preference = [\n\"grpc\",\n\"soap\"]"), @"missive: c.toml:5: `protocol.binding_preference`: `soap` is not a binding; they are http+json, json-rpc and grpc");
    insta::assert_snapshot!(refused("[agents.Ada]\nurl = \"http://h\""), @"missive: c.toml:2: `agents.Ada`: a name has 1 to 63 of the characters a-z, 0-9, `.`, `_` and `-`, and starts with a letter or a digit");
    insta::assert_snapshot!(refused("[agents.ada]\nnotes = \"n\""), @r#"
    missive: c.toml:2: `agents.ada.url` is missing
    hint: url = "https://agent.example"
    "#);
    insta::assert_snapshot!(refused("[agents.ada]\nbase_url = \"http://h\""), @r"
    missive: c.toml:3: unknown key `agents.ada.base_url`
    hint: known keys are `auth_ref`, `binding_preference`, `interfaces`, `metadata`, `notes`, `tags` and `url`
    ");
    insta::assert_snapshot!(refused("[qos]\ntotal_timeout = 5"), @r#"missive: c.toml:3: `qos.total_timeout` must be a time such as "30s", and is an integer here"#);
    insta::assert_snapshot!(refused("[agents.ada]\nurl = \"http://h\"\nauth_ref = \"crn\"\n[auth_refs.crm]\nkind = \"env\"\nenv = \"X\""), @r"
    missive: c.toml:4: `agents.ada.auth_ref`: there is no [auth_refs.crn]
    hint: did you mean `crm`?
    ");
}

#[test]
fn a_file_that_is_not_toml_or_not_ours_is_refused_with_its_line() {
    insta::assert_snapshot!(refused("[qos\n"), @"missive: c.toml:2: not TOML: unclosed table, expected `]`");
    insta::assert_snapshot!(failure(&parsed("default_profile = \"a\"").unwrap_err(), Mode::Human, 0, false), @r#"
    missive: c.toml:1: `schema_version` is missing
    hint: begin the file with `schema_version = "missive.config.v1"`
    "#);
    insta::assert_snapshot!(failure(&parsed("\nschema_version = \"missive.config.v2\"").unwrap_err(), Mode::Human, 0, false), @r"
    missive: c.toml:2: `schema_version`: `missive.config.v2` is not a schema that this missive reads
    hint: this release reads `missive.config.v1`
    ");
}

#[test]
fn a_secret_in_the_file_is_refused_without_repeating_it() {
    let told = refused("[auth_refs.crm]\nkind = \"env\"\ntoken = \"s3cret\"");
    let pasted = refused("[auth_refs.crm]\nkind = \"env\"\nenv = \"Bearer s3cret\"");

    insta::assert_snapshot!(told, @r#"
    missive: c.toml:4: `auth_refs.crm.token` would be a secret in a file
    hint: keep the secret in an environment variable: kind = "env", env = "NAME"
    "#);
    assert!(!pasted.contains("s3cret"), "{pasted}");
}

#[test]
fn the_first_file_in_the_documented_order_is_read() {
    let home = tempfile::tempdir().unwrap();
    let repo = home.path().join("repo/deep");
    std::fs::create_dir_all(&repo).unwrap();
    std::fs::write(home.path().join("repo/.missive.toml"), "").unwrap();
    std::fs::write(home.path().join("config.toml"), "").unwrap();
    let found = |flag: Option<&str>, extra: &[(&str, &str)]| {
        let globals = Globals {
            config: flag.map(PathBuf::from),
            ..Globals::default()
        };
        let lookup = |name: &str| {
            if name == "MISSIVE_HOME" {
                return Some(home.path().as_os_str().to_owned());
            }
            extra
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| OsString::from(value))
        };
        find(&globals, &Environment::from_lookup(&lookup), || {
            Some(repo.clone())
        })
        .unwrap()
    };

    let all = [
        ("MISSIVE_CONFIG", "/env.toml"),
        ("MISSIVE_REPO_CONFIG", "1"),
    ];
    assert_eq!(
        found(Some("flag.toml"), &all).as_deref(),
        Some(Path::new("flag.toml"))
    );
    assert_eq!(found(None, &all).as_deref(), Some(Path::new("/env.toml")));
    assert_eq!(
        found(None, &[("MISSIVE_REPO_CONFIG", "1")]),
        Some(home.path().join("repo/.missive.toml"))
    );
    assert_eq!(found(None, &[]), Some(home.path().join("config.toml")));
}
