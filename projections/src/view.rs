//! What a view is: a fold of events into rows.

use crate::rows::{Posts, Rows, Table};
use missive_log::Event;

/// A fold. It accepts every event of every history, cannot fail, awaits nothing, and reads neither
/// payloads nor a clock: the same events give the same rows.
pub trait Projection {
    /// Its name, as people see it.
    const NAME: &'static str;
    /// Raised when the same events would give other rows: the views are then folded again.
    const VERSION: u32;
    /// The tables that it alone writes.
    const TABLES: &'static [Table];

    /// Folds one event.
    fn apply(rows: &mut impl Rows, event: &Event);
}

/// A view that only notes which events there are for a term. It needs no row, so it runs beside the folds.
pub trait Indexing {
    /// Its name, as people see it.
    const NAME: &'static str;
    /// Raised when the same events would give other places.
    const VERSION: u32;
    /// The tables that it alone writes.
    const TABLES: &'static [Table];

    /// Notes one event.
    fn apply(posts: &mut impl Posts, event: &Event);
}
