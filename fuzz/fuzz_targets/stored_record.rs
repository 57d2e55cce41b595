//! A body or a payload row from a damaged disk: refused, or read without loss, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missive_log::event::{Seq, stored};
use missive_log::payload::row;

fuzz_target!(|bytes: &[u8]| {
    // A row that reads is as long as its header, what it says about the bytes, and the bytes.
    if let Ok(row) = row::decode(bytes) {
        assert!(
            row.bytes.len() + 35 <= bytes.len(),
            "a row holds more than it was read from"
        );
    }

    let (seq, prev) = (Seq(7), Seq(3));
    let Ok(event) = stored::decode(seq, prev, bytes) else {
        return;
    };
    let Ok(body) = stored::encode_again(&event) else {
        return;
    };
    // Not every readable body is canonical (verification says which are); what is written again is.
    let again = stored::decode(seq, prev, body.as_bytes()).expect("a written body reads");
    assert_eq!(
        again, event,
        "a body changed its meaning by being written again"
    );
    assert_eq!(
        stored::encode_again(&again).expect("a read body writes"),
        body
    );
});
