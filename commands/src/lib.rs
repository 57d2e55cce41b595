//! What may happen next, and making it happen.

pub mod config;
pub mod effect;
pub mod secret;
pub mod wire;
