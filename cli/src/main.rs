//! The command line of missive.

fn main() {}
