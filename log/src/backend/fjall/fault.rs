//! The note of a fault in the log's folder: writes refuse for as long as it is there.

use crate::contract::IntegrityFault;

/// The note: a line for people, then the fault for us.
pub(super) fn encode(fault: &IntegrityFault) -> Vec<u8> {
    // A fault is made of numbers, digests and text: it always has a JSON form.
    let data = serde_json::to_string(fault).unwrap_or_default();
    format!("{fault}\n{data}\n").into_bytes()
}

/// Reads a note. One that cannot be read is a fault all the same.
pub(super) fn decode(note: &[u8]) -> IntegrityFault {
    let text = String::from_utf8_lossy(note);
    let mut lines = text.lines();
    let what = lines
        .next()
        .unwrap_or("an unreadable note of a fault")
        .to_owned();
    lines
        .next()
        .and_then(|data| serde_json::from_str(data).ok())
        .unwrap_or(IntegrityFault::Store { what })
}
