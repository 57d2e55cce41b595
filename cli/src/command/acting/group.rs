//! What to do where a group is not what it should be.

use super::word;
use crate::suggest;
use missive_commands::Refusal;
use missive_commands::groups::GroupRefusal;
use missive_log::event::{Alias, GroupName, Rank};

/// How many taken ranks a hint names.
const RANKS_MAX: usize = 12;

/// What to do about a refusal that is about a group.
pub(super) fn advice(refusal: &Refusal) -> Option<String> {
    if let Refusal::NoGroup {
        nearest,
        renamed_to,
        deleted,
        name,
        is_agent,
    } = refusal
    {
        if *is_agent {
            return Some(format!(
                "`{name}` is an agent; a group comes first, and `missive group list` shows them"
            ));
        }
        return Some(no_group(nearest, renamed_to.as_ref(), *deleted));
    }
    if let Refusal::EmptyGroup { name } = refusal {
        return Some(format!(
            "`missive group add {name} ALIAS --rank 1` makes an agent a member"
        ));
    }
    if let Refusal::NothingToReduce { group, context } = refusal {
        let context = word(context.as_str());
        return Some(format!(
            "`missive gather {group} --context {context}` shows what each member did"
        ));
    }
    matches!(refusal, Refusal::NoReduction { .. }).then(|| {
        "`missive events list --type missive.reduce.completed` lists all reductions".to_owned()
    })
}

/// What to do where a group is named and an agent is wanted.
pub(super) fn instead_of_an_agent(name: &str) -> String {
    format!(
        "`{name}` is a group: `--group {name}` has a member chosen, and `missive bcast {name} ...` asks all of them"
    )
}

fn no_group(nearest: &[GroupName], renamed_to: Option<&GroupName>, deleted: bool) -> String {
    if let Some(now) = renamed_to {
        return format!("it was renamed to `{now}`");
    }
    if deleted {
        return "it was deleted; `missive events list --group NAME` shows by whom".to_owned();
    }
    if nearest.is_empty() {
        return "`missive group list` shows the groups that there are".to_owned();
    }
    let names: Vec<String> = nearest.iter().map(|near| format!("`{near}`")).collect();
    format!("did you mean {}?", names.join(" or "))
}

/// What to do about a refusal that is about members or names.
pub(super) fn about(why: &GroupRefusal) -> String {
    match why {
        GroupRefusal::Taken { name } => {
            format!("choose another name; `missive group show {name}` shows this one")
        }
        GroupRefusal::AlreadyMember { group, agent, .. } => format!(
            "to change its rank, tags or weight: `missive group remove {group} {agent}`, then add it again"
        ),
        GroupRefusal::RankTaken { taken, .. } => {
            let shown: Vec<&str> = taken.iter().take(RANKS_MAX).map(Rank::as_str).collect();
            let more = match taken.len().saturating_sub(RANKS_MAX) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("taken are {}{more}", shown.join(", "))
        }
        GroupRefusal::NoMember {
            group,
            agent,
            rank,
            members,
        } => {
            let members: Vec<&str> = members.iter().map(Alias::as_str).collect();
            let near = suggest::hint(agent.as_str(), "member", &members);
            // A rank that does not fit says nothing against the alias.
            near.filter(|_| rank.is_none())
                .unwrap_or_else(|| format!("`missive group show {group}` shows its members"))
        }
        GroupRefusal::SeveralMembers { ranks, .. } => {
            let ranks: Vec<String> = ranks.iter().map(|rank| format!("--rank {rank}")).collect();
            format!("say which one with {}", ranks.join(" or "))
        }
        GroupRefusal::NotOfPolicy { what: "quorum", .. } => {
            "--quorum goes with `--policy quorum`".to_owned()
        }
        GroupRefusal::PolicyOfMany { group, .. } => format!(
            "`missive bcast {group} ...` sends it to all, and `missive barrier {group} --required N` waits for a quorum; \
             --policy chooses one for this message"
        ),
        GroupRefusal::NobodyFits { group, reasons, .. } => {
            let shown = reasons.iter().take(RANKS_MAX);
            let shown: Vec<String> = shown
                .map(|(agent, reason)| format!("{agent}: {reason}"))
                .collect();
            format!(
                "{}; `missive route explain --group {group}` with the same flags says more",
                shown.join("; ")
            )
        }
        GroupRefusal::NoCandidate { candidates, .. } => {
            let names: Vec<String> = candidates
                .iter()
                .take(RANKS_MAX)
                .map(|alias| format!("`{alias}`"))
                .collect();
            format!("it is chosen among {}", names.join(", "))
        }
        GroupRefusal::NotOfPolicy { .. } => {
            "--cursor goes with `--policy round-robin` and `--policy weighted`".to_owned()
        }
    }
}
