# Recipes for people. None is needed: the README's two commands work with cargo alone.

# What CI runs: format, clippy, tests, documents.
check:
    .ci/run

# The tests, as the README has them.
test:
    cargo test --workspace

# The tests, quickly, without the doc tests.
quick:
    cargo nextest run --workspace

# Review changed snapshots: each one is a changed user interface.
snap:
    cargo insta test --workspace --review

# Format everything.
fmt:
    cargo fmt --all

# The tour on built-in loopback agents.
demo:
    cargo run --release -- demo

# Fuzz one target for a minute (needs cargo-fuzz and a nightly compiler).
fuzz TARGET:
    cargo +nightly fuzz run --sanitizer none {{TARGET}} -- -max_total_time=60 -rss_limit_mb=1024

# The benchmarks behind docs/benchmarks.md.
bench:
    cargo bench --workspace

# The documents of the code, in a browser.
docs:
    cargo doc --workspace --no-deps --open

# Licences, sources, duplicate versions and advisories of the dependencies (needs cargo-deny).
deny:
    cargo deny check
