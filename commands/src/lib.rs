//! What may happen next, and making it happen.

pub mod config;
pub mod secret;
pub mod wire;
