//! Selections hold against looking at every event.

use super::*;
use crate::rows::postings::{Block, decode};
use crate::{Filter, KindPattern, Views, ViewsHost};
use missive_log::Event;

/// What a filter means, event by event, for a history without renames of the wanted agent.
fn naive(world: &World, filter: &Filter, aliases: &[(Alias, Seq, Seq)]) -> Vec<Seq> {
    let named = |event: &Event| {
        filter.agent.is_none()
            || aliases.iter().any(|(alias, since, until)| {
                event.links.agent.as_ref() == Some(alias) && (*since..=*until).contains(&event.seq)
            })
    };
    let mut found: Vec<Seq> = world
        .records()
        .iter()
        .map(|record| record.decode().unwrap())
        .filter(|event| named(event) && filter.matches_but_agent(event))
        .map(|event| event.seq)
        .collect();
    if filter.reverse {
        found.reverse();
    }
    found.truncate(filter.limit.unwrap_or(usize::MAX));
    found
}

fn filters() -> impl Strategy<Value = Filter> {
    let some = proptest::option::weighted::<std::ops::Range<usize>>;
    let some_u64 = proptest::option::weighted::<std::ops::Range<u64>>;
    let nouns = (
        some(0.3, 0_usize..4),
        some(0.3, 0_usize..4),
        some(0.3, 0_usize..4),
        some(0.3, 0_usize..4),
        proptest::bool::weighted(0.2),
    );
    let patterns = prop::sample::subsequence(
        vec![
            "a2a.*",
            "a2a.send.requested",
            "*.agent.?dded",
            "missive.later.kind",
            "nothing",
        ],
        0..3,
    );
    let moment = || some_u64(0.3, 0..70_000_000);
    let bounds = (moment(), moment(), 0_u64..20, some_u64(0.2, 0..60));
    let rest = (any::<bool>(), some(0.5, 0_usize..8), some(0.2, 0_usize..5));
    (nouns, patterns, bounds, rest).prop_map(
        |(
            (agent, ctx, tsk, op, grp),
            kinds,
            (since, until, after, through),
            (reverse, limit, origin),
        )| {
            Filter {
                agent: agent.map(|n| alias(AGENTS[n])),
                context: ctx.map(|n| context(IDS[n])),
                task: tsk.map(|n| task(IDS[n])),
                group: grp.then(|| GroupName::new("one").unwrap()),
                operation: op.map(|n| operation(&format!("op-{n}"))),
                kinds: kinds.into_iter().map(KindPattern::new).collect(),
                origin: origin.map(|n| Origin::ALL[n]),
                since: since.map(|micros| at(BEGIN + micros)),
                until: until.map(|micros| at(BEGIN + micros)),
                after: Seq(after.saturating_sub(10)),
                through: through.map(Seq),
                reverse,
                limit,
            }
        },
    )
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn the_indexes_answer_every_filter_as_looking_at_every_event_does(
        world in histories(), filter in filters(),
    ) {
        let head = world.head();
        let host = Arc::new(ViewsHost::in_memory(head.log, world.source()));
        let views = Views::hosted(host, head.seq);
        let mut aliases = Vec::new();
        if let Some(agent) = &filter.agent {
            aliases.push((agent.clone(), Seq(0), Seq(u64::MAX)));
            let former = views.agent(agent).unwrap().map(|agent| agent.former);
            let removed = match views.entry(agent).unwrap() {
                Some(crate::Entry::Removed { was, .. }) => was.former,
                _ => Vec::new(),
            };
            let former = former.unwrap_or_default().into_iter().chain(removed);
            aliases.extend(former.map(|f| (f.alias, f.since, f.until)));
        }

        let found = views.select(&filter).unwrap();

        prop_assert_eq!(found, naive(&world, &filter, &aliases));
    }

    #[test]
    fn a_block_gives_back_the_places_that_it_was_given(
        distances in proptest::collection::vec(0_u64..1 << 40, 0..50), first in 1_u64..1 << 50,
    ) {
        let mut block = Block::new(Seq(first));
        let mut places = vec![Seq(first)];
        let mut at = first;
        for distance in distances {
            at += distance;
            block.push(Seq(at));
            places.push(Seq(at));
        }
        places.dedup();

        prop_assert_eq!(decode(Seq(first), &block.into_bytes()), Some(places));
    }

    #[test]
    fn no_bytes_of_a_block_can_do_more_than_be_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..40), first in any::<u64>(),
    ) {
        if let Some(places) = decode(Seq(first), &bytes) {
            prop_assert!(places.is_sorted_by(|a, b| a < b));
        }
    }
}

#[test]
fn a_pattern_is_exact_or_a_glob() {
    let table = [
        ("a2a.send.requested", "a2a.send.requested", true),
        ("a2a.send", "a2a.send.requested", false),
        ("a2a.*", "a2a.send.requested", true),
        ("*.requested", "a2a.send.requested", true),
        ("a*s?nd*d", "a2a.send.requested", true),
        ("*", "", true),
        ("?", "", false),
        ("a*b*c", "abcbd", false),
        ("a*b*c", "abcbdc", true),
    ];
    for (pattern, name, matches) in table {
        assert_eq!(
            KindPattern::new(pattern).matches(name),
            matches,
            "{pattern} {name}"
        );
    }
}

#[test]
fn the_newest_of_many_are_found_in_any_chunking() {
    let mut world = World::new();
    for n in 0..3_000_u32 {
        let agent = if n % 100 == 7 { "rare" } else { "busy" };
        world.append(about(agent, send(&format!("m{n}"), 1)));
    }
    let head = world.head();
    let host = Arc::new(ViewsHost::in_memory(head.log, world.source()));
    for step in (500..head.seq.0).step_by(333) {
        host.ensure(Seq(step)).unwrap();
    }
    let views = Views::hosted(host, head.seq);
    let filter = Filter {
        agent: Some(alias("rare")),
        kinds: vec![KindPattern::new("a2a.*")],
        reverse: true,
        limit: Some(3),
        ..Filter::default()
    };

    let found = views.select(&filter).unwrap();
    let beyond = views.select(&Filter {
        after: Seq(u64::MAX),
        ..filter
    });

    assert_eq!(found, [Seq(2_909), Seq(2_809), Seq(2_709)]);
    assert!(beyond.unwrap().is_empty());
}

#[test]
fn moments_within_one_second_are_told_apart() {
    let mut world = World::new();
    let mut places = Vec::new();
    for n in 0..20 {
        world.wait(100_000);
        places.push(world.append(about("ada", send(&format!("m{n}"), 1))));
    }
    let head = world.head();
    let views = Views::hosted(
        Arc::new(ViewsHost::in_memory(head.log, world.source())),
        head.seq,
    );

    let found = views.select(&Filter {
        since: Some(at(BEGIN + 300_000)),
        until: Some(at(BEGIN + 1_150_000)),
        ..Filter::default()
    });

    assert_eq!(found.unwrap(), places[2..11]);
}
