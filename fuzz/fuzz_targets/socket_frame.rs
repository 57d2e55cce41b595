//! Frames from another process: a bounded refusal or a message that reads the same again.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| missive_log::fuzzing::socket_frame(bytes));
