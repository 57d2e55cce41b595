//! The event log: what was written, and proof that it still is.
