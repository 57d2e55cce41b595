//! What may happen next, and making it happen.
