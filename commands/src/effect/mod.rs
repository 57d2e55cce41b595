//! The outside: what missive does to the world once the log says that it will.
