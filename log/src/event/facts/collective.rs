//! What facts about groups and rounds are made of.

use super::update::PayloadFacts;
use super::{TaskState, stored_enum};
use crate::event::id::{Alias, ArtifactId, MessageId, NotAnId, Rank, TaskId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

stored_enum!(
    /// How an agent is chosen out of several.
    RoutingPolicy {
        /// The one with the first rank.
        Direct = "direct",
        /// Those whose cards say that they can do what is asked for.
        CapabilityMatch = "capability-match",
        /// Those with every tag that is asked for.
        TagMatch = "tag-match",
        /// One after the other, in turns.
        RoundRobin = "round-robin",
        /// By weight.
        Weighted = "weighted",
        /// All of them.
        Broadcast = "broadcast",
        /// The first one that answers well, in the order of ranks.
        FirstSuccess = "first-success",
        /// As many as a majority needs.
        Quorum = "quorum",
        /// The first one; the next one only if it cannot be had.
        Fallback = "fallback",
    }
);

stored_enum!(
    /// In which order the members of a group are called.
    Execution {
        /// One after the other, in the order of ranks.
        Sequential = "sequential",
        /// Side by side, as many at once as the configuration allows.
        Concurrent = "concurrent",
    }
);

stored_enum!(
    /// What the failure of one member means for the others.
    FailurePolicy {
        /// Whatever has not begun does not begin.
        Stop = "stop",
        /// Nothing.
        Continue = "continue",
    }
);

stored_enum!(
    /// What came of a round.
    RoundStatus {
        /// What was wanted.
        Succeeded = "succeeded",
        /// Some members did, some did not.
        PartialFailure = "partial_failure",
        /// It cannot be had.
        Failed = "failed",
        /// Time ran out.
        TimedOut = "timed_out",
        /// Somebody ended it.
        Canceled = "canceled",
    }
);

stored_enum!(
    /// What came of a round for one member.
    MemberStatus {
        /// It answered, or its task satisfies what was waited for.
        Succeeded = "succeeded",
        /// It took the message and works on it.
        Accepted = "accepted",
        /// It waits for the user: input or credentials.
        Waiting = "waiting",
        /// It failed, or could not be reached.
        Failed = "failed",
        /// Time ran out before anything was sent, or while its state was known.
        TimedOut = "timed_out",
        /// A message left and no answer came: whether it arrived is not known.
        InDoubt = "in_doubt",
        /// Nothing was sent, since the round had ended.
        Skipped = "skipped",
        /// Somebody ended it.
        Canceled = "canceled",
        /// It is not registered any more, so nothing was sent.
        Unregistered = "unregistered",
        /// It was taken out of the group before it was done.
        Left = "left",
        /// It has no task in the context.
        MissingTask = "missing_task",
        /// It has a task, and has said nothing.
        EmptyOutput = "empty_output",
    }
);

stored_enum!(
    /// How many outputs become one.
    ReduceStrategy {
        /// All of them, one after the other, with who said what.
        Summarise = "summarise",
        /// The answer that most gave.
        Vote = "vote",
        /// Every line that anybody wrote, once.
        Merge = "merge",
        /// In the order of their weights.
        Rank = "rank",
        /// As a template says.
        Custom = "custom",
    }
);

stored_enum!(
    /// By whom outputs were made into one.
    ReduceMethod {
        /// By missive itself: the same inputs give the same text.
        Local = "local",
        /// By an agent.
        Agent = "agent",
        /// By a command.
        Command = "command",
    }
);

stored_enum!(
    /// Why a reduction came to nothing.
    ReduceFailure {
        /// The command could not be started.
        NotStarted = "not_started",
        /// It ended with another code than 0.
        ExitCode = "exit_code",
        /// A signal ended it.
        Signal = "signal",
        /// Time ran out.
        Timeout = "timeout",
        /// It wrote more than is taken.
        TooLarge = "too_large",
        /// What it wrote is not UTF-8.
        NotText = "not_text",
        /// The agent could not be asked, or its task failed.
        Agent = "agent",
        /// The agent did not answer, and whether it was asked is not known.
        InDoubt = "in_doubt",
        /// Somebody ended it.
        Interrupted = "interrupted",
    }
);

/// How much of the work a member takes, in millionths: positive, at most a billion ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(u64);

impl Weight {
    /// The weight of a member that has none.
    pub const ONE: Self = Self(Self::SCALE);
    /// How many millionths are one.
    pub const SCALE: u64 = 1_000_000;
    /// The largest weight, in millionths.
    const MAX: u64 = 1_000_000_000 * Self::SCALE;

    /// A weight of so many millionths.
    pub fn from_millionths(millionths: u64) -> Option<Self> {
        (1..=Self::MAX)
            .contains(&millionths)
            .then_some(Self(millionths))
    }

    /// In millionths.
    pub fn millionths(self) -> u64 {
        self.0
    }
}

impl std::str::FromStr for Weight {
    type Err = NotAnId;

    /// Reads a decimal number with at most six places after the point.
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let wrong = || {
            NotAnId::new(
                "a weight (a number over 0, at most 1000000000, with at most 6 decimals)",
                text,
            )
        };
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(part) || part.len() > 6 || whole.len() > 10 {
            return Err(wrong());
        }
        let whole: u64 = whole.parse().map_err(|_| wrong())?;
        let part: u64 = format!("{part:0<6}").parse().map_err(|_| wrong())?;
        Self::from_millionths(whole * Self::SCALE + part).ok_or_else(wrong)
    }
}

impl std::fmt::Display for Weight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, part) = (self.0 / Self::SCALE, self.0 % Self::SCALE);
        if part == 0 {
            return f.pad(&whole.to_string());
        }
        let part = format!("{part:06}");
        f.pad(&format!("{whole}.{}", part.trim_end_matches('0')))
    }
}

impl Serialize for Weight {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let millionths = u64::deserialize(from)?;
        Self::from_millionths(millionths)
            .ok_or_else(|| serde::de::Error::custom("a weight is positive and at most 10^15"))
    }
}

/// What a reduction took from one member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReduceSource {
    /// The member, by its alias then.
    pub agent: Alias,
    /// Its rank.
    pub rank: Rank,
    /// Whether it had said something.
    pub status: MemberStatus,
    /// Its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The state of that task then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<TaskState>,
    /// The message that the text is from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The artifact that the text is from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactId>,
    /// The how manieth version of the artifact that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The payloads that hold the text; of very many, the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub payloads: Vec<PayloadFacts>,
    /// How many payloads hold it.
    pub payloads_total: u32,
}
