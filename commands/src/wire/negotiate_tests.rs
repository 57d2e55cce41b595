//! The field reports about choosing an interface, as a table.

use super::*;

fn entry(url: &str, binding: &str, version: &str) -> Interface {
    Interface {
        url: url.to_owned(),
        binding: binding.to_owned(),
        protocol_version: (!version.is_empty()).then(|| version.to_owned()),
        tenant: None,
    }
}

fn card(interfaces: Vec<Interface>) -> Card {
    Card {
        interfaces,
        ..Card::default()
    }
}

fn negotiate(
    from: &str,
    interfaces: Vec<Interface>,
    wishes: &Wishes,
) -> Result<Negotiated, NoChoice> {
    let from = Url::parse(from).unwrap();
    choose(&from, Some((&card(interfaces), &from)), wishes)
}

fn refusals(considered: &[Considered]) -> Vec<&str> {
    considered
        .iter()
        .map(|row| row.refused.as_deref().unwrap_or("chosen"))
        .collect()
}

#[test]
fn the_first_entry_whose_binding_and_version_fit_is_taken_as_declared() {
    let negotiated = negotiate(
        "https://h.example/team/.well-known/agent-card.json",
        vec![
            entry("https://h.example/old", "JSONRPC", "0.3"),
            entry("https://h.example/odd", "JSONRPC", ""),
            entry("https://h.example/near", "jsonrpc", "1.0"),
            entry("h.example:443", "GRPC", "1.0"),
            entry("/rpc", "JSONRPC", "1.0"),
            entry("https://h.example/team", "HTTP+JSON", "1.0.3"),
            entry("https://h.example/next", "JSONRPC", "1.0"),
        ],
        &Wishes::default(),
    )
    .unwrap();

    assert_eq!(negotiated.choice.url, "https://h.example/team");
    assert_eq!(
        negotiated.choice.reason,
        "first entry that missive speaks, in the card's order"
    );
    assert_eq!(
        refusals(&negotiated.considered),
        [
            "it speaks A2A 0.3",
            "the entry has no protocolVersion",
            "`jsonrpc` is no binding name; `JSONRPC` is probably meant",
            "gRPC is not spoken yet",
            "the url `/rpc` is not absolute",
            "chosen",
            "another one comes first",
        ]
    );
    let defects: Vec<_> = negotiated.considered.iter().map(|row| row.defect).collect();
    assert_eq!(defects, [false, true, true, false, true, false, false]);
}

#[test]
fn the_users_order_of_bindings_goes_before_the_cards() {
    let wishes = Wishes {
        preference: vec![Binding::JsonRpc],
        ..Wishes::default()
    };

    let negotiated = negotiate(
        "https://h.example/",
        vec![
            entry("https://h.example/rest", "HTTP+JSON", "1.0"),
            entry("https://h.example/rpc", "JSONRPC", "1.0"),
        ],
        &wishes,
    )
    .unwrap();

    assert_eq!(negotiated.choice.url, "https://h.example/rpc");
    assert_eq!(
        negotiated.choice.reason,
        "first entry that missive speaks, in the user's order of bindings"
    );
}

#[test]
fn a_registered_interface_wins_over_the_card_and_the_card_over_a_guess() {
    let base = Url::parse("https://gw.example/x").unwrap();
    let internal = card(vec![entry("http://internal:9000", "JSONRPC", "1.0")]);
    let wishes = Wishes {
        overrides: vec![(Binding::JsonRpc, base.clone())],
        ..Wishes::default()
    };
    let only = Wishes {
        only: Some(Binding::HttpJson),
        ..Wishes::default()
    };

    let registered = choose(&base, Some((&internal, &base)), &wishes).unwrap();
    let guessed = choose(&base, None, &only).unwrap();
    let nothing = choose(&base, None, &Wishes::default()).unwrap_err();

    assert_eq!(registered.choice.source, Source::Override);
    assert_eq!(registered.choice.url, "https://gw.example/x");
    assert_eq!(guessed.choice.source, Source::Direct);
    assert_eq!(
        guessed.choice.reason,
        "there is no card: the base URL is taken to speak http+json"
    );
    assert_eq!(nothing, NoChoice::Nothing);
}

#[test]
fn an_interface_that_leads_elsewhere_than_the_card_is_refused_with_both_hosts() {
    // card host                 interface                    refused
    let cases = [
        ("https://h.example/", "http://[::]:8080/invoke", true),
        ("https://h.example/", "http://0.0.0.0:8080", true),
        ("https://h.example/", "http://localhost:8080", true),
        ("https://h.example/", "http://169.254.169.254/x", true),
        ("https://h.example/", "http://10.0.0.7/x", true),
        ("https://h.example/", "http://agent:8080/x", true),
        ("http://127.0.0.1:1/", "http://0.0.0.0:8080", true),
        ("http://10.0.0.5/", "http://127.0.0.1:1", true),
        ("http://127.0.0.1:1/", "http://localhost:2", false),
        ("http://10.0.0.5/", "http://10.0.0.7/x", false),
        ("http://10.0.0.5/", "https://h.example/x", false),
        ("https://h.example/", "https://other.example/x", false),
    ];

    for (from, url, refused) in cases {
        let offered = vec![entry(url, "JSONRPC", "1.0")];
        let anyway = Wishes {
            allow_any_host: true,
            ..Wishes::default()
        };

        let result = negotiate(from, offered.clone(), &Wishes::default());

        assert_eq!(result.is_err(), refused, "{from} {url}: {result:?}");
        assert!(negotiate(from, offered, &anyway).is_ok());
        if let Err(error) = result {
            assert!(matches!(error, NoChoice::WrongHost { .. }));
        }
    }
    let error = negotiate(
        "https://h.example/",
        vec![entry("http://[::]:8080/invoke", "JSONRPC", "1.0")],
        &Wishes::default(),
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the card came from h.example, and its interface http://[::]:8080/invoke is on [::], \
         an unspecified address"
    );
}

#[test]
fn what_cannot_be_spoken_says_why() {
    let old = vec![
        entry("https://h.example/rpc", "JSONRPC", "0.3"),
        entry("https://h.example/rest", "HTTP+JSON", "0.3.0"),
    ];
    let grpc = vec![
        entry("h.example:443", "GRPC", "1.0"),
        entry("https://u:p@h.example/a?k=v", "GRPC", "1.0"),
    ];
    let secret = vec![entry("https://u:p@h.example/", "JSONRPC", "1.0")];
    let ask = |offered, wishes: &Wishes| {
        negotiate("https://h.example/", offered, wishes)
            .unwrap_err()
            .to_string()
    };
    let two = Wishes {
        version: Version::parse("2.0"),
        ..Wishes::default()
    };

    assert_eq!(
        ask(old.clone(), &Wishes::default()),
        "the agent offers only A2A 0.3, and missive speaks 1.0"
    );
    assert_eq!(
        ask(grpc, &Wishes::default()),
        "no interface of the agent can be used: it offers only gRPC (h.example:443, h.example/a), which is not spoken yet"
    );
    assert_eq!(
        ask(secret, &Wishes::default()),
        "no interface of the agent can be used: the url holds credentials"
    );
    assert_eq!(ask(old, &two), "A2A 2.0 is not spoken here");
}
