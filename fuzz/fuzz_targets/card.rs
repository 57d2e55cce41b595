//! A card from a hostile peer: refused with a bounded text, or read and negotiated, never a panic. Its
//! signatures are judged, and verified by nobody.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missive_commands::wire::card::read_card;
use missive_commands::wire::headers::Media;
use missive_commands::wire::json::Limits;
use missive_commands::wire::signature::{Outcome, Signed, Trust};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        bytes_max: 1 << 20,
        ..Limits::default()
    };

    if let Some(signed) = Signed::read(bytes, &limits) {
        let verdict = signed.judge(&Trust::default());
        assert_ne!(verdict.outcome, Outcome::Verified, "nobody is trusted");
    }
    match read_card(
        bytes,
        Media::Json,
        "http://127.0.0.1:1/.well-known/agent-card.json",
        &limits,
    ) {
        Ok(card) => assert!(!format!("{card:?}").is_empty()),
        Err(error) => assert!(error.to_string().len() < 4_096, "an error text is bounded"),
    }
});
