//! What to do where a group is not what it should be.

use super::word;
use missive_commands::Refusal;
use missive_log::event::GroupName;

/// What to do about a refusal that is about a group.
pub(super) fn advice(refusal: &Refusal) -> Option<String> {
    if let Refusal::NoGroup {
        nearest,
        renamed_to,
        deleted,
        ..
    } = refusal
    {
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
