//! What may happen next, and making it happen.

pub mod secret;
pub mod wire;
