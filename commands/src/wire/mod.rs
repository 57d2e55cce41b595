//! A2A on the wire, without the wire: pure functions between bytes, plain values and facts.
//!
//! Everything that came from a peer is hostile until it is read here, and stays available as the
//! exact text it was. Nothing in this module opens a connection, reads a clock or keeps state.

pub mod answer;
pub mod card;
pub mod discover;
pub mod error;
mod error_kind;
pub mod facts;
pub mod freshness;
pub mod headers;
pub mod host;
mod http_json;
pub mod json;
mod json_rpc;
pub mod kept;
pub mod message;
pub mod negotiate;
pub mod normal;
pub mod packed;
mod parse;
pub mod push;
pub mod request;
pub mod signature;
mod signature_canonical;
mod signature_key;
pub mod sse;
mod sse_frame;
pub mod state;
pub mod stream;
pub mod text;
pub mod update;
pub mod version;
pub mod violation;

#[cfg(test)]
mod captures_tests;
#[cfg(test)]
mod oracle_tests;
