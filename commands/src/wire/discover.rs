//! Where to look for an agent's card, in which order, and when to stop.
//!
//! The base path is kept (C003), the path of older versions is asked only when the right one is
//! plainly not there (C001), and what was found anywhere but in the first place is said aloud. A
//! wrong answer from the right place is never papered over by a better one from a wrong place.

use url::Url;

/// Where a card was, or may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The base URL names a `.json` document itself.
    Exact,
    /// `<base>/.well-known/agent-card.json` (A2A 1.0, section 8.2).
    WellKnown,
    /// `<base>/.well-known/agent.json`, the path of older versions.
    Legacy,
    /// The well-known path at the origin, although the base has a path.
    OriginRoot,
    /// The legacy path at the origin, although the base has a path.
    LegacyOriginRoot,
}

impl Place {
    /// The name in facts and outputs; a document named by the user counts as its well-known path.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact | Self::WellKnown => "well_known",
            Self::Legacy => "legacy",
            Self::OriginRoot => "origin_root",
            Self::LegacyOriginRoot => "legacy_origin_root",
        }
    }
}

/// One address to ask for a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The address.
    pub url: Url,
    /// What kind of place it is.
    pub place: Place,
}

/// What to do after an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Ask here next.
    Ask(Candidate),
    /// This answer is the one that counts, good or bad.
    Stop,
    /// Nobody has a card.
    Exhausted,
}

/// A search for the card of one agent: ask [`Discovery::first`], then report each HTTP status.
#[derive(Clone, Debug)]
pub struct Discovery {
    base: Url,
    candidates: Vec<Candidate>,
    at: usize,
    asked: Vec<(Url, u16)>,
}

impl Discovery {
    /// Begins a search below `base`. `remembered` is where the card was last time.
    pub fn new(base: &Url, remembered: Option<&Url>) -> Self {
        let mut candidates = candidates(base);
        if let Some(known) = remembered
            && let Some(position) = candidates
                .iter()
                .position(|candidate| candidate.url == *known)
        {
            let known = candidates.remove(position);
            candidates.insert(0, known);
        }
        Self {
            base: base.clone(),
            candidates,
            at: 0,
            asked: Vec::new(),
        }
    }

    /// The first address to ask.
    pub fn first(&self) -> Option<&Candidate> {
        self.candidates.first()
    }

    /// The address that was asked last.
    pub fn current(&self) -> Option<&Candidate> {
        self.candidates.get(self.at)
    }

    /// Takes the status of the answer to the last address asked. Failures without a status (refused
    /// connections, TLS) end a search and are not reported here.
    pub fn answered(&mut self, status: u16) -> Step {
        let Some(current) = self.current().cloned() else {
            return Step::Exhausted;
        };
        self.asked.push((current.url, status));
        if !matches!(status, 404 | 405 | 410) {
            return Step::Stop;
        }
        loop {
            self.at += 1;
            let Some(next) = self.current().cloned() else {
                return Step::Exhausted;
            };
            if self.may_ask(next.place) {
                return Step::Ask(next);
            }
        }
    }

    /// The origin's root is another agent's place: it is asked only when the right address is a 404.
    fn may_ask(&self, place: Place) -> bool {
        match place {
            Place::Exact | Place::WellKnown | Place::Legacy => true,
            Place::OriginRoot | Place::LegacyOriginRoot => {
                let right = self
                    .candidates
                    .iter()
                    .find(|candidate| candidate.place == Place::WellKnown);
                right.is_none_or(|right| self.asked.contains(&(right.url.clone(), 404)))
            }
        }
    }

    /// Every address that was asked, with its status.
    pub fn asked(&self) -> &[(Url, u16)] {
        &self.asked
    }

    /// What the user should know about the place where the card was found.
    pub fn note(&self) -> Option<String> {
        let path = self.base.path().trim_end_matches('/');
        match self.current()?.place {
            Place::Exact | Place::WellKnown => None,
            Place::Legacy => Some("card found at the legacy path agent.json".to_owned()),
            Place::OriginRoot => Some(format!("card found at origin root, not under {path}")),
            Place::LegacyOriginRoot => Some(format!(
                "card found at the legacy path of the origin root, not under {path}"
            )),
        }
    }
}

fn candidates(base: &Url) -> Vec<Candidate> {
    let path = base.path().trim_end_matches('/');
    let at = |path: &str, place| {
        let mut url = base.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.set_path(path);
        Candidate { url, place }
    };
    // A document is recognised by its name only: `agent.v2` is a path, `card.json` is a card.
    if path
        .rsplit('/')
        .next()
        .is_some_and(|last| last.to_ascii_lowercase().ends_with(".json"))
    {
        return vec![at(path, Place::Exact)];
    }
    let new = "/.well-known/agent-card.json";
    let old = "/.well-known/agent.json";
    let mut found = vec![
        at(&format!("{path}{new}"), Place::WellKnown),
        at(&format!("{path}{old}"), Place::Legacy),
    ];
    if !path.is_empty() {
        found.push(at(new, Place::OriginRoot));
        found.push(at(old, Place::LegacyOriginRoot));
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Plays a search against a server; the answer names the addresses asked, the end and the note.
    fn search(
        base: &str,
        remembered: Option<&str>,
        statuses: &[(&str, u16)],
    ) -> (Vec<String>, Step, Option<String>) {
        let remembered = remembered.map(|url| Url::parse(url).unwrap());
        let mut discovery = Discovery::new(&Url::parse(base).unwrap(), remembered.as_ref());
        let mut next = discovery.first().cloned().unwrap();
        loop {
            let path = next.url.path().to_owned();
            let status = statuses
                .iter()
                .find(|(known, _)| *known == path)
                .map_or(404, |(_, status)| *status);
            match discovery.answered(status) {
                Step::Ask(candidate) => next = candidate,
                end @ (Step::Stop | Step::Exhausted) => {
                    let asked = discovery
                        .asked()
                        .iter()
                        .map(|(url, _)| url.path().to_owned())
                        .collect();
                    return (asked, end, discovery.note());
                }
            }
        }
    }

    #[test]
    fn the_base_path_is_kept_with_and_without_a_slash() {
        for base in ["https://h.example/it_agent", "https://h.example/it_agent/"] {
            let (asked, end, note) = search(
                base,
                None,
                &[
                    ("/it_agent/.well-known/agent-card.json", 200),
                    ("/.well-known/agent-card.json", 200),
                ],
            );

            assert_eq!(asked, ["/it_agent/.well-known/agent-card.json"]);
            assert_eq!((end, note), (Step::Stop, None));
        }
    }

    #[test]
    fn the_legacy_path_is_asked_only_when_the_right_one_is_not_there() {
        for (status, asked_count) in [
            (404, 2),
            (405, 2),
            (410, 2),
            (200, 1),
            (401, 1),
            (403, 1),
            (500, 1),
            (503, 1),
            (302, 1),
        ] {
            let (asked, end, note) = search(
                "https://h.example",
                None,
                &[
                    ("/.well-known/agent-card.json", status),
                    ("/.well-known/agent.json", 200),
                ],
            );

            assert_eq!(asked.len(), asked_count, "{status}");
            assert_eq!(end, Step::Stop);
            assert_eq!(note.is_some(), asked_count == 2);
        }
    }

    #[test]
    fn the_origin_root_is_asked_last_only_after_a_404_and_reported() {
        let root = ("/.well-known/agent-card.json", 200);

        let found = search("https://h.example/it_agent", None, &[root]);
        let gone = search(
            "https://h.example/it_agent",
            None,
            &[("/it_agent/.well-known/agent-card.json", 410), root],
        );

        assert_eq!(
            found.0,
            [
                "/it_agent/.well-known/agent-card.json",
                "/it_agent/.well-known/agent.json",
                "/.well-known/agent-card.json"
            ]
        );
        assert_eq!(
            found.2.as_deref(),
            Some("card found at origin root, not under /it_agent")
        );
        assert_eq!(gone.1, Step::Exhausted);
        assert_eq!(gone.0.len(), 2);
    }

    #[test]
    fn the_place_of_last_time_is_asked_first_and_the_others_after_it() {
        let known = "https://h.example/.well-known/agent.json";

        let still = search(
            "https://h.example",
            Some(known),
            &[("/.well-known/agent.json", 200)],
        );
        let moved = search(
            "https://h.example",
            Some(known),
            &[("/.well-known/agent-card.json", 200)],
        );

        assert_eq!(still.0, ["/.well-known/agent.json"]);
        assert_eq!(
            moved.0,
            ["/.well-known/agent.json", "/.well-known/agent-card.json"]
        );
        assert_eq!(moved.2, None);
    }

    #[test]
    fn a_base_that_names_a_document_is_asked_as_it_is() {
        let (asked, end, _) = search(
            "https://gw.example/x/card.json?v=1",
            None,
            &[("/x/card.json", 200)],
        );

        assert_eq!(asked, ["/x/card.json"]);
        assert_eq!(end, Step::Stop);
    }

    proptest! {
        /// Whatever the base path, every address stays on the origin, and the first is below the base.
        #[test]
        fn candidates_stay_on_the_origin_and_begin_below_the_base(path in "[a-zA-Z0-9%/._~-]{0,40}") {
            let base = Url::parse(&format!("https://h.example/{path}")).unwrap();

            let found = candidates(&base);

            for candidate in &found {
                prop_assert_eq!(candidate.url.origin(), base.origin());
                prop_assert_eq!(candidate.url.query(), None);
            }
            prop_assert!(found[0].url.path().starts_with(base.path().trim_end_matches('/')));
        }
    }
}
