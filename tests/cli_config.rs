//! Configuration files and homes that are wrong: exit code 78, with the place.

use crate::TestWorld;
use serde_json::Value;

#[test]
fn an_unknown_key_is_named_with_file_and_line() {
    let world = TestWorld::new();
    world.file(
        "c.toml",
        "schema_version = \"missive.config.v1\"\n[qos]\nretrys = 3\n",
    );

    insta::assert_snapshot!(world.missive(["log", "head", "--config", "c.toml"]), @r"
    exit 78
    ------- stderr -------
    missive: c.toml:3: unknown key `qos.retrys`
    hint: did you mean `retries`?
    ");
}

#[test]
fn the_file_of_the_home_is_read_and_the_one_of_a_repository_only_when_asked_for() {
    let world = TestWorld::new();
    world.file(
        "missive/config.toml",
        "schema_version = \"missive.config.v1\"\n[home]\n",
    );
    world.file(
        "missive.toml",
        "schema_version = \"missive.config.v1\"\n[repository]\n",
    );

    insta::assert_snapshot!(world.missive(["log", "head"]), @r"
    exit 78
    ------- stderr -------
    missive: missive/config.toml:2: unknown key `home`
    hint: known keys are `adapters`, `agents`, `auth_refs`, `default_profile`, `gateway`, `log`, `output`, `profiles`, `protocol`, `qos`, `routing`, `schema_version` and 1 more
    ");
    let asking = world.with_variable("MISSIVE_REPO_CONFIG", "1");
    insta::assert_snapshot!(asking.missive(["log", "head"]), @r"
    exit 78
    ------- stderr -------
    missive: missive.toml:2: unknown key `repository`
    hint: known keys are `adapters`, `agents`, `auth_refs`, `default_profile`, `gateway`, `log`, `output`, `profiles`, `protocol`, `qos`, `routing`, `schema_version` and 1 more
    ");
}

#[test]
fn a_file_that_was_named_must_be_there() {
    insta::assert_snapshot!(TestWorld::new().missive(["--config", "nope.toml", "log", "head"]), @r"
    exit 78
    ------- stderr -------
    missive: nope.toml cannot be read
    caused by: No such file or directory (os error 2)
    hint: the file was named with --config or MISSIVE_CONFIG, so it must exist
    ");
}

#[test]
fn a_configuration_error_is_an_envelope_with_machine_output() {
    let world = TestWorld::new();
    world.file(
        "c.toml",
        "schema_version = \"missive.config.v1\"\n[auth_refs.a]\ntoken = \"s3cret\"\n",
    );

    let run = world.missive(["log", "head", "--ndjson", "--config", "c.toml"]);

    assert_eq!(run.code, Some(78));
    assert!(!run.to_string().contains("s3cret"));
    insta::assert_json_snapshot!(run.error(), @r#"
    {
      "data": {
        "category": "config",
        "code": "missive::config::secret_in_file",
        "exit_code": 78,
        "help": "keep the secret in an environment variable: kind = \"env\", env = \"NAME\"",
        "message": "c.toml:3: `auth_refs.a.token` would be a secret in a file"
      },
      "kind": "error",
      "ok": false,
      "schema_version": "missive.output.v1",
      "sequence": 0
    }
    "#);
}

#[test]
fn a_home_that_is_not_absolute_is_refused() {
    let world = TestWorld::new().with_variable("MISSIVE_HOME", "somewhere");

    insta::assert_snapshot!(world.missive(["log", "head"]), @r"
    exit 78
    ------- stderr -------
    missive: MISSIVE_HOME is `somewhere`, which is not an absolute path
    hint: set it to an absolute path, or unset it
    ");
}

#[test]
fn a_profile_that_nobody_knows_is_new_to_a_writer_and_refused_to_a_reader() {
    let world = TestWorld::new();
    let add = |profile| {
        [
            "agent",
            "add",
            "ada",
            "http://ada.test",
            "--profile",
            profile,
        ]
    };

    let read_before = world.missive(["events", "list", "--profile", "work"]);
    insta::assert_snapshot!(world.missive(add("work")), @r"
    exit 0
    ------- stdout -------
    ada is registered at http://ada.test
    ------- stderr -------
    note: profile `work` is new
    ");
    let second = world.missive(add("work"));

    assert_eq!(read_before.code, Some(66), "{read_before}");
    assert!(!second.stderr.contains("is new"), "{second}");
    insta::assert_snapshot!(world.missive(["events", "list", "--profile", "wrok"]), @r"
    exit 66
    ------- stderr -------
    missive: there is no profile `wrok`
    hint: did you mean `work`?
    ");
    for reading in [
        ["agent", "list"],
        ["log", "head"],
        ["events", "verify"],
        ["projection", "list"],
        ["task", "get"],
    ] {
        let task = (reading[0] == "task").then_some("t-1");
        let words = reading.into_iter().chain(task).chain(["--profile", "wrok"]);
        assert_eq!(world.missive(words).code, Some(66), "{reading:?}");
    }
    assert_eq!(world.missive(["events", "list"]).code, Some(0));
}

#[test]
fn without_a_home_the_xdg_folders_hold_a_log_for_each_profile() {
    let world = TestWorld::new();
    let xdg = world.folder().join("xdg");
    let run = |arguments: &[&str]| {
        let mut command = world.command(arguments.iter().copied());
        // Of one seed both would be the same log, which cannot have two ends.
        for name in ["MISSIVE_HOME", "MISSIVE_TEST_SEED", "MISSIVE_TEST_CLOCK"] {
            command.env_remove(name);
        }
        for (name, below) in [("DATA", "data"), ("STATE", "state"), ("CONFIG", "config")] {
            command.env(format!("XDG_{name}_HOME"), xdg.join(below));
        }
        command.output().unwrap()
    };
    world.file(
        "xdg/config/missive/config.toml",
        "schema_version = \"missive.config.v1\"\ndefault_profile = \"work\"\n",
    );

    run(&["agent", "add", "ada", "http://ada.test"]);
    run(&[
        "agent",
        "add",
        "bob",
        "http://bob.test",
        "--profile",
        "home",
    ]);

    let names = |profile: &str| {
        let output = run(&["agent", "list", "--ndjson", "--profile", profile]);
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines
            .map(|line| line["data"]["agent"]["alias"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (names("work"), names("home")),
        (vec!["ada".to_owned()], vec!["bob".to_owned()])
    );
    for profile in ["work", "home"] {
        let log = xdg.join("data/missive/profiles").join(profile).join("log");
        assert!(log.is_dir(), "{}", log.display());
    }
    assert!(xdg.join("state/missive").is_dir());
    assert!(!world.missive_home().exists());
}
