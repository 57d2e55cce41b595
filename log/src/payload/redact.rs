//! The only maker of payloads: what is secret is replaced before anything is stored.
