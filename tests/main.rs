//! End-to-end tests: the joints between the rooms.
