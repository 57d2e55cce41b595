//! Groups and their members for people.

use crate::render::{Kind, Lines, Page, Report, Tint};
use missive_commands::report::group::{
    GroupAbilitiesReport, GroupReport, GroupView, GroupsReport, MemberAbilities, MemberView,
    WholeGroupReport,
};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// What is said about one group, under the name of the command that says it.
pub(super) struct Shown(pub(super) Kind, pub(super) GroupReport);

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.1.serialize(serializer)
    }
}

impl Report for Shown {
    fn kind(&self) -> Kind {
        self.0
    }

    fn human(&self, page: &mut Page) {
        let Self(kind, report) = self;
        let name = (Tint::Strong, report.group.name.as_str());
        if let Some(member) = &report.member {
            let what = if *kind == Kind::GroupAdd {
                " is a member of "
            } else {
                " is no member any more of "
            };
            let rank = format!(" (rank {})", member.rank);
            let agent = (Tint::Strong, member.agent.as_str());
            page.spans(&[agent, (Tint::Plain, what), name, (Tint::Plain, &rank)]);
        } else if let Some(old) = &report.previous_name {
            page.spans(&[(Tint::Plain, old), (Tint::Plain, " is called "), name]);
        } else {
            page.spans(&[name, (Tint::Plain, " is made")]);
        }
    }
}

/// What is said about a group and its members, under the name of the command that says it.
pub(super) struct Whole(pub(super) Kind, pub(super) WholeGroupReport);

impl Serialize for Whole {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.1.serialize(serializer)
    }
}

impl Report for Whole {
    fn kind(&self) -> Kind {
        self.0
    }

    fn human(&self, page: &mut Page) {
        let Self(kind, report) = self;
        let group = &report.group;
        if *kind == Kind::GroupDelete {
            let what = " is deleted; its history stays";
            page.spans(&[(Tint::Strong, &group.name), (Tint::Plain, what)]);
            return;
        }
        let fields = fields(group);
        let shown: Vec<(&str, &str)> = fields
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        page.fields(&shown);
        if !report.members.is_empty() {
            page.line("");
        }
        let rows = report.members.iter().map(row);
        page.table(
            ["rank", "agent", "status", "weight", "tags", "metadata"],
            rows,
        );
    }
}

fn fields(group: &GroupView) -> [(&'static str, String); 7] {
    [
        ("group", group.name.clone()),
        (
            "policy",
            group.routing_policy.unwrap_or_default().to_owned(),
        ),
        ("members", group.member_count.to_string()),
        ("next turn", group.cursor.to_string()),
        ("called before", group.former_names.join(" ")),
        ("notes", group.notes.clone().unwrap_or_default()),
        ("metadata", pairs(&group.metadata)),
    ]
}

fn row(member: &MemberView) -> [String; 6] {
    let status = match &member.added_as {
        Some(then) => format!("{}, added as {then}", member.status),
        None => member.status.to_owned(),
    };
    [
        member.rank.clone(),
        member.agent.clone(),
        status,
        member.weight.to_string(),
        member.tags.join(" "),
        pairs(&member.routing_metadata),
    ]
}

fn pairs(metadata: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = metadata
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    pairs.join(" ")
}

impl Report for GroupsReport {
    fn kind(&self) -> Kind {
        Kind::GroupList
    }

    fn human(&self, page: &mut Page) {
        let rows = self.groups.iter().map(|group| {
            [
                group.name.clone(),
                group.member_count.to_string(),
                group.routing_policy.unwrap_or_default().to_owned(),
                group.notes.clone().unwrap_or_default(),
            ]
        });
        page.table(["group", "members", "policy", "notes"], rows);
    }

    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        #[derive(Serialize)]
        struct One<'a> {
            group: &'a GroupView,
        }
        self.groups
            .iter()
            .try_for_each(|group| lines.push(self.kind(), true, &One { group }))
    }
}

impl Report for GroupAbilitiesReport {
    fn kind(&self) -> Kind {
        Kind::GroupCapabilities
    }

    fn human(&self, page: &mut Page) {
        let rows = self.members.iter().map(|member| {
            let skills: Vec<&str> = member
                .skills
                .iter()
                .map(|skill| skill.id.as_str())
                .collect();
            [
                member.rank.clone(),
                member.agent.clone(),
                can(member),
                skills.join(" "),
                member.tags.join(" "),
                member.input_modes.join(" "),
                member.output_modes.join(" "),
            ]
        });
        let header = ["rank", "agent", "can", "skills", "tags", "takes", "gives"];
        page.table(header, rows);
    }

    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        #[derive(Serialize)]
        struct One<'a> {
            group: &'a str,
            member: &'a MemberAbilities,
        }
        let group = self.group.name.as_str();
        self.members
            .iter()
            .try_for_each(|member| lines.push(self.kind(), true, &One { group, member }))
    }
}

fn can(member: &MemberAbilities) -> String {
    if let Some(why) = &member.error {
        return format!("unknown: {why}");
    }
    let found = &member.capabilities;
    let named = [
        (found.streaming, "streaming"),
        (found.push_notifications, "push notifications"),
        (found.extended_agent_card, "extended card"),
    ];
    let named: Vec<&str> = named
        .into_iter()
        .filter(|(has, _)| *has)
        .map(|(_, name)| name)
        .collect();
    if named.is_empty() {
        return "none of the optional ones".to_owned();
    }
    named.join(", ")
}
