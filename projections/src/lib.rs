//! Views: what the log means.
