//! What commands show: plain values with the field names that scripts rely on.
//!
//! Rendering is the command line's. Text in here comes from strangers and needs escaping before a
//! terminal shows it; `raw` is a peer's JSON exactly as received.

pub mod agent;
pub mod context;
pub mod group;
pub mod push;
pub mod route;
pub mod send;
pub mod stream;
pub mod task;

use serde_json::value::RawValue;

/// JSON text as it is; `None` only for text that is no JSON.
pub(crate) fn raw(text: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(text.to_owned()).ok()
}
