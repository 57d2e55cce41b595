//! Rows of another process are the same rows.

use super::*;
use crate::rows::attached::AttachedAt;
use crate::rows::{Index, KeyRange, Order, Places, Read, Table};
use crate::{Attached, Filter, KindPattern, Views, ViewsError, ViewsHost};
use missive_log::backend::companion::Companion;
use std::sync::Mutex;

fn attach(host: &Arc<ViewsHost>) -> Arc<Attached> {
    let host = Arc::clone(host);
    Arc::new(Attached::new(Box::new(move |least, request| {
        host.answer(least, request).map_err(Into::into)
    })))
}

#[test]
fn an_attached_process_reads_what_the_host_reads() {
    let mut world = World::new();
    world.append(about("ada", added("http://one.test")));
    let sent = world.append(of("op", "ada", None, send("m", 1)));
    world.append(about("ada", updated(seen("t", TaskState::Working, None))));
    let head = world.head();
    let host = Arc::new(ViewsHost::in_memory(head.log, world.source()));
    let here = Views::hosted(Arc::clone(&host), head.seq);
    let there = Views::attached(attach(&host), head.seq);

    // The attached one first: it is the host that must catch up for it.
    assert_eq!(there.outbox().unwrap()[0].seq, sent);
    assert_eq!(there.agents().unwrap(), here.agents().unwrap());
    assert_eq!(there.tasks().unwrap(), here.tasks().unwrap());
    assert_eq!(there.kinds().unwrap(), here.kinds().unwrap());
    assert_eq!(there.status().unwrap(), here.status().unwrap());
    assert_eq!(
        there.last_of_operation(&operation("op")).unwrap(),
        Some(sent)
    );
    assert_eq!(there.select(&Filter::default()).unwrap().len(), 4);
    assert_eq!(there.verify().unwrap().difference, None);
    assert_eq!(there.rebuild().unwrap().position, head.seq);
}

#[test]
fn what_lies_where_it_is_looked_for_is_answered_without_waiting() {
    let mut world = World::new();
    world.append(about("ada", added("http://one.test")));
    let head = world.head();
    let host = Arc::new(ViewsHost::in_memory(head.log, world.source()));
    let calls = Arc::new(Mutex::new((0, 0)));
    let (asked, counted) = (Arc::clone(&host), Arc::clone(&calls));
    let quick = Attached::new(Box::new(move |least, request| {
        let now = asked.answer_now(least, request);
        let mut counted = counted.lock().unwrap();
        match now {
            Some(_) => counted.0 += 1,
            None => counted.1 += 1,
        }
        now.unwrap_or_else(|| asked.answer(least, request))
            .map_err(Into::into)
    }));
    let there = Views::attached(Arc::new(quick), head.seq);
    let few = |filter: Filter| Filter {
        limit: Some(20),
        ..filter
    };
    let of_ada = || Filter {
        agent: Some("ada".parse().unwrap()),
        ..Filter::default()
    };

    // The first one has to wait until the views stand at the head.
    there.select(&few(of_ada())).unwrap();
    assert_eq!(*calls.lock().unwrap(), (0, 1));
    assert_eq!(there.select(&few(of_ada())).unwrap(), [head.seq]);
    assert_eq!(*calls.lock().unwrap(), (1, 1));
    there.select(&of_ada()).unwrap();
    let kinds = vec![KindPattern::new("missive.*")];
    there.select(&few(Filter { kinds, ..of_ada() })).unwrap();

    assert_eq!(*calls.lock().unwrap(), (1, 3));
}

#[test]
fn long_answers_come_in_pages_that_lose_nothing() {
    let mut world = World::new();
    let draft = |n: u32| about(&format!("agent-{n:04}"), added("http://one.test"));
    world.append_all((0..2_500).map(draft).collect());
    let head = world.head();
    let host = Arc::new(ViewsHost::in_memory(head.log, world.source()));
    host.ensure(head.seq).unwrap();
    let rows = attach(&host);
    let there = AttachedAt {
        rows: &rows,
        least: head.seq,
    };

    for order in [Order::Forward, Order::Reverse] {
        for limit in [0, 1, 1_024, 1_025, 2_400, usize::MAX] {
            let scan = |rows: &dyn Read| rows.scan(Table::Agents, &KeyRange::all(), order, limit);
            assert_eq!(scan(&there).unwrap(), scan(host.as_ref()).unwrap());
        }
    }
    let views = Views::attached(Arc::clone(&rows), head.seq);
    assert_eq!(views.agents().unwrap().len(), 2_500);
    let kind = b"missive.agent.added";
    let posted = there.postings(Index::Kind, kind, Places::ALL, Order::Forward, usize::MAX);
    assert_eq!(posted.unwrap().len(), 2_500);
}

#[test]
fn nonsense_in_either_direction_is_refused() {
    let world = World::new();
    let host = Arc::new(ViewsHost::in_memory(world.head().log, world.source()));
    let garbled = Attached::new(Box::new(|_, _| Ok(vec![0xff; 9])));
    let views = Views::attached(Arc::new(garbled), Seq(1));

    assert!(host.answer(Seq(1), b"\xff\xff nonsense").is_err());
    assert!(matches!(views.agents(), Err(ViewsError::Foreign)));
    let behind = Views::attached(attach(&host), Seq(99))
        .agents()
        .unwrap_err();
    assert!(matches!(behind, ViewsError::Unreachable(_)), "{behind:?}");
}
