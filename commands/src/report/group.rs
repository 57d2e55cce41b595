//! `group_*`.

use std::collections::BTreeMap;

use missive_log::event::facts::{RoutingPolicy, Weight};
use missive_projections::Group;
use serde::{Serialize, Serializer};

use super::agent::{CapabilitiesView, SkillView};
use crate::groups::Seat;

/// `group_create`, `group_rename`, `group_add` and `group_remove`.
#[derive(Clone, Debug, Serialize)]
pub struct GroupReport {
    /// The group.
    pub group: GroupView,
    /// The member that came or went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberView>,
    /// What the group was called before a rename.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_name: Option<String>,
    /// The event that says so.
    pub sequence: u64,
}

/// `group_show` and `group_delete`.
#[derive(Clone, Debug, Serialize)]
pub struct WholeGroupReport {
    /// The group.
    pub group: GroupView,
    /// Its members, in the order of their ranks.
    pub members: Vec<MemberView>,
    /// The event that this command recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
}

/// `group_list`.
#[derive(Clone, Debug, Serialize)]
pub struct GroupsReport {
    /// The groups, by name.
    pub groups: Vec<GroupView>,
}

/// A group.
#[derive(Clone, Debug, Serialize)]
pub struct GroupView {
    /// Its name.
    pub name: String,
    /// How an agent of it is chosen where nothing else is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routing_policy: Option<&'static str>,
    /// A person's remark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// A person's further facts.
    pub metadata: BTreeMap<String, String>,
    /// How many members it has.
    pub member_count: u32,
    /// Where its turns stand: the next one has this number.
    pub cursor: u64,
    /// What it was called before, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub former_names: Vec<String>,
    /// When it was made.
    pub created: String,
}

impl GroupView {
    /// What its row says.
    pub(crate) fn short(group: &Group) -> Self {
        Self {
            name: group.name.to_string(),
            routing_policy: group.policy.map(RoutingPolicy::as_str),
            notes: None,
            metadata: BTreeMap::new(),
            member_count: group.members,
            cursor: group.turn,
            former_names: group.former.iter().map(ToString::to_string).collect(),
            created: group.created_at.to_string(),
        }
    }
}

/// A member of a group.
#[derive(Clone, Debug, Serialize)]
pub struct MemberView {
    /// What its agent is called now; of one that is gone, what it was called.
    pub agent: String,
    /// Its place in the group.
    pub rank: String,
    /// `registered`, `renamed`, `config`, `removed` or `unregistered`.
    pub status: &'static str,
    /// What its agent was called when it was added, where it is called otherwise now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_as: Option<String>,
    /// Tags that it has as a member, sorted.
    pub tags: Vec<String>,
    /// How much of the work it takes.
    #[serde(serialize_with = "number")]
    pub weight: Weight,
    /// Facts about it as a member.
    pub routing_metadata: BTreeMap<String, String>,
    /// When it was added.
    pub added: String,
}

impl MemberView {
    /// What its row says.
    pub(crate) fn short(seat: &Seat) -> Self {
        let then = &seat.member.agent;
        let now = seat.agent();
        Self {
            agent: now.to_string(),
            rank: seat.member.rank.to_string(),
            status: seat.standing.name(),
            added_as: (then != now).then(|| then.to_string()),
            tags: seat.member.tags.iter().map(ToString::to_string).collect(),
            weight: seat.member.weight,
            routing_metadata: BTreeMap::new(),
            added: seat.member.added_at.to_string(),
        }
    }
}

/// A weight as a number; whole ones without a fraction.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde wants"
)]
pub(crate) fn number<S: Serializer>(weight: &Weight, serializer: S) -> Result<S::Ok, S::Error> {
    let (whole, part) = (
        weight.millionths() / Weight::SCALE,
        weight.millionths() % Weight::SCALE,
    );
    if part == 0 {
        return serializer.serialize_u64(whole);
    }
    // At most 15 digits, which a double holds: its shortest spelling is the decimal that was given.
    match weight.to_string().parse::<f64>() {
        Ok(weight) => serializer.serialize_f64(weight),
        Err(_) => serializer.serialize_str(&weight.to_string()),
    }
}

/// `group_capabilities`.
#[derive(Clone, Debug, Serialize)]
pub struct GroupAbilitiesReport {
    /// The group.
    pub group: GroupView,
    /// Its members, in the order of their ranks.
    pub members: Vec<MemberAbilities>,
}

/// What a member can do, as far as its cached card says.
#[derive(Clone, Debug, Serialize)]
pub struct MemberAbilities {
    /// What its agent is called now.
    pub agent: String,
    /// Its place in the group.
    pub rank: String,
    /// `registered`, `renamed`, `config`, `removed` or `unregistered`.
    pub status: &'static str,
    /// Why nothing is known of its card; then all of it is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When its card came or was last confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetched: Option<String>,
    /// Optional operations.
    pub capabilities: CapabilitiesView,
    /// What it can do.
    pub skills: Vec<SkillView>,
    /// Media types that it takes.
    pub input_modes: Vec<String>,
    /// Media types that it gives.
    pub output_modes: Vec<String>,
    /// Tags of the agent and of the member: what `--tag` matches.
    pub tags: Vec<String>,
    /// What `--capability` matches, sorted.
    pub labels: Vec<String>,
}
