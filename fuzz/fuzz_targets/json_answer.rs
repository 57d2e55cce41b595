//! A JSON answer from a hostile peer: the text is kept exactly, the facts are read leniently.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missive_commands::wire::facts;
use missive_commands::wire::json::{Document, JsonText, Limits};
use missive_commands::wire::normal::normalise;
use missive_commands::wire::violation::Violations;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        bytes_max: 1 << 20,
        ..Limits::default()
    };
    let Ok(document) = Document::read(bytes, &limits) else {
        return;
    };

    let without_mark = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    assert_eq!(
        document.text().as_bytes(),
        without_mark,
        "the text is kept to the byte"
    );
    let mut odd = Violations::default();
    let value = normalise(document.value());
    assert!(!format!("{:?}", facts::task(&value, &mut odd)).is_empty());
    assert!(!format!("{:?}", facts::message(&value, &mut odd)).is_empty());

    // What our own user may send, a peer may send as well: the stricter reader accepts no more.
    if let Ok(strict) = JsonText::parse(document.text(), &limits) {
        assert_eq!(
            strict.text(),
            document.text().trim_matches([' ', '\t', '\r', '\n'])
        );
    }
});
