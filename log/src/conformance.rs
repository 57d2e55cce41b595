//! The promises of `contract.rs` as tests, generic over [`Log`].
//!
//! `conformance!(make)` runs all of them on one backend; there is no way to run only some. `make` is an
//! `async fn() -> (Arc<L>, Keep)`: a new log with its first event and nothing more, and whatever must live as
//! long as the log does (a folder, a host).

use crate::chain::Commitment;
use crate::contract::{
    AppendError, Appended, BATCH_BYTES_MAX, BATCH_DRAFTS_MAX, Batch, Expect, IntegrityFault, Log,
    Opened, READ_RECORDS_MAX, ReadError, Record,
};
use crate::event::kind::EventKind;
use crate::event::{Alias, ContextId, Draft, Seq, Subject, Timestamp};
use crate::payload::{Media, Role, row};
use crate::seam::Ids;
use std::sync::Arc;

mod trial;

pub(crate) use trial::*;

/// Runs every promise on one backend.
macro_rules! conformance {
    ($make:path) => {
        crate::conformance::conformance!($make =>
            places_are_dense_from_one,
            the_chain_verifies_up_to_the_head,
            a_batch_that_cannot_be_stored_whole_leaves_no_trace,
            a_batch_that_is_empty_or_too_large_is_refused,
            a_retried_batch_is_taken_in_once,
            a_retried_batch_is_taken_in_once_also_after_others,
            a_stale_writer_is_refused_and_told_what_is_there,
            a_retry_that_landed_does_not_conflict_with_itself,
            an_event_names_the_last_earlier_one_of_its_thread,
            a_thread_goes_on_within_a_batch,
            a_head_goes_forward_and_everything_up_to_it_can_be_read,
            reading_is_bounded_and_in_order,
            picking_keeps_the_order_that_was_asked_for,
            many_large_records_are_read_as_if_they_were_few,
            a_payload_opens_as_it_was_given,
            a_payload_that_was_never_there_is_missing,
            a_payload_with_another_commitment_is_a_fault,
            payload_rows_come_in_order_and_in_pieces,
            a_subscription_sees_everything_also_what_comes_while_it_reads,
            concurrent_appends_all_land_once_and_densely,
            of_concurrent_writers_on_one_condition_one_wins,
            times_never_go_back,
        );
    };
    ($make:path => $($promise:ident),+ $(,)?) => {
        $(#[tokio::test]
        async fn $promise() {
            let (log, _keep) = $make().await;
            crate::conformance::within_reason(crate::conformance::$promise(log)).await;
        })+
    };
}
pub(crate) use conformance;

pub(crate) async fn places_are_dense_from_one<L: Log>(log: Arc<L>) {
    let one = log.append(batch(&["a"])).await.unwrap();
    let three = log.append(batch(&["a", "b", "c"])).await.unwrap();

    let at = |first, last| Appended {
        first: Seq(first),
        last: Seq(last),
    };
    let places: Vec<u64> = read_all(&log)
        .await
        .iter()
        .map(|record| record.seq.0)
        .collect();
    assert_eq!([one, three], [at(2, 2), at(3, 5)]);
    assert_eq!(places, [1, 2, 3, 4, 5]);
}

pub(crate) async fn the_chain_verifies_up_to_the_head<L: Log>(log: Arc<L>) {
    log.append(batch(&["a", "b"])).await.unwrap();
    log.append(batch(&["a"])).await.unwrap();

    let records = read_all(&log).await;
    assert_eq!(verify(&records, head(&log)), head(&log));
    let first = records[0].decode().unwrap();
    assert!(matches!(first.kind, EventKind::LogCreated(_)));
    assert_eq!(
        crate::chain::log_id(records[0].body.as_bytes()),
        head(&log).log
    );
}

pub(crate) async fn a_batch_that_cannot_be_stored_whole_leaves_no_trace<L: Log>(log: Arc<L>) {
    let before = head(&log);
    let drafts = vec![draft("a"), draft_of_bytes(80_000), draft("a")];
    let bad = Batch::new(Ids::from_system().batch(), drafts);

    let refused = log.append(bad.clone()).await.unwrap_err();
    let after = head(&log);
    let landed = log.append(batch(&["a"])).await.unwrap();
    let again = log.append(bad).await.unwrap_err();

    assert!(matches!(refused, AppendError::Encode(_)), "{refused:?}");
    assert!(matches!(again, AppendError::Encode(_)), "{again:?}");
    assert_eq!(after, before);
    let records = read_all(&log).await;
    assert_eq!(records.len(), 2);
    assert_eq!((landed.first, records[1].prev), (Seq(2), Seq::ZERO));
}

pub(crate) async fn a_batch_that_is_empty_or_too_large_is_refused<L: Log>(log: Arc<L>) {
    let before = head(&log);
    let many = vec!["a"; BATCH_DRAFTS_MAX + 1];
    let mut heavy = batch(&["a"]);
    heavy.drafts[0]
        .payloads
        .push(payload(&vec![b'x'; BATCH_BYTES_MAX + 1]));

    let refusals = [
        log.append(batch(&[])).await.unwrap_err(),
        log.append(batch(&many)).await.unwrap_err(),
        log.append(heavy).await.unwrap_err(),
    ];

    assert!(matches!(refusals[0], AppendError::Empty));
    assert!(matches!(
        refusals[1],
        AppendError::TooLarge {
            drafts: 4_097,
            bytes: 0
        }
    ));
    assert!(
        matches!(refusals[2], AppendError::TooLarge { drafts: 1, bytes } if bytes > BATCH_BYTES_MAX)
    );
    assert_eq!(head(&log), before);
}

pub(crate) async fn a_retried_batch_is_taken_in_once<L: Log>(log: Arc<L>) {
    let batch = batch(&["a", "b"]);

    let first = log.append(batch.clone()).await.unwrap();
    let retried = log.append(batch).await.unwrap();

    assert_eq!(retried, first);
    assert_eq!(head(&log).seq, first.last);
    assert_eq!(read_all(&log).await.len(), 3);
}

pub(crate) async fn a_retried_batch_is_taken_in_once_also_after_others<L: Log>(log: Arc<L>) {
    let early = batch(&["a", "b"]);
    let first = log.append(early.clone()).await.unwrap();
    for _ in 0..20 {
        log.append(batch(&["a"])).await.unwrap();
    }
    let before = head(&log);

    let retried = log.append(early).await.unwrap();

    assert_eq!(retried, first);
    assert_eq!(head(&log), before);
}

fn unchanged(alias: &str, last: Option<Seq>) -> Expect {
    let subject = Subject::Agent(Alias::new(alias).unwrap());
    Expect::Unchanged { subject, last }
}

pub(crate) async fn a_stale_writer_is_refused_and_told_what_is_there<L: Log>(log: Arc<L>) {
    let seen = log.append(batch(&["a"])).await.unwrap().last;
    let newer = log.append(batch(&["b", "a"])).await.unwrap().last;
    let before = head(&log);

    let stale = log
        .append(batch(&["a"]).expecting(unchanged("a", Some(seen))))
        .await
        .unwrap_err();
    let blind = log
        .append(batch(&["a"]).expecting(unchanged("a", None)))
        .await
        .unwrap_err();
    let one_of_two = batch(&["a"])
        .expecting(unchanged("c", None))
        .expecting(unchanged("b", None));
    let half = log.append(one_of_two).await.unwrap_err();
    let after = head(&log);
    let fresh = log
        .append(batch(&["a"]).expecting(unchanged("a", Some(newer))))
        .await;

    for refused in [stale, blind] {
        let AppendError::Conflict { subject, found } = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(
            (subject.to_string().as_str(), found),
            ("agent:a", Some(newer))
        );
    }
    assert!(
        matches!(
            half,
            AppendError::Conflict {
                found: Some(Seq(3)),
                ..
            }
        ),
        "{half:?}"
    );
    assert_eq!(after, before);
    assert!(fresh.is_ok());
}

pub(crate) async fn a_retry_that_landed_does_not_conflict_with_itself<L: Log>(log: Arc<L>) {
    let batch = batch(&["a"]).expecting(unchanged("a", None));

    let first = log.append(batch.clone()).await.unwrap();
    let retried = log.append(batch).await.unwrap();

    assert_eq!(retried, first);
}

fn in_context(alias: &str, context: &str) -> Draft {
    let mut draft = draft(alias);
    draft.links.context = Some(ContextId::new(context).unwrap());
    draft
}

async fn prevs<L: Log>(log: &Arc<L>) -> Vec<u64> {
    read_all(log)
        .await
        .iter()
        .map(|record| record.prev.0)
        .collect()
}

pub(crate) async fn an_event_names_the_last_earlier_one_of_its_thread<L: Log>(log: Arc<L>) {
    let drafts = [
        draft("a"),
        in_context("a", "c"),
        in_context("b", "c"),
        draft("a"),
        in_context("a", "a"),
        draft("b"),
    ];

    for draft in drafts {
        log.append(Batch::new(Ids::from_system().batch(), vec![draft]))
            .await
            .unwrap();
    }

    // 3 and 5: a context is a thread of its own, and the thread of a subject holds all of the subject.
    assert_eq!(prevs(&log).await, [0, 0, 0, 3, 3, 0, 4]);
}

pub(crate) async fn a_thread_goes_on_within_a_batch<L: Log>(log: Arc<L>) {
    let drafts = vec![
        draft("a"),
        in_context("b", "c"),
        draft("a"),
        in_context("a", "c"),
        in_context("d", "c"),
        draft("d"),
        in_context("a", "e"),
        draft("a"),
    ];

    log.append(Batch::new(Ids::from_system().batch(), drafts))
        .await
        .unwrap();

    assert_eq!(prevs(&log).await, [0, 0, 0, 2, 3, 5, 6, 0, 8]);
}

pub(crate) async fn a_head_goes_forward_and_everything_up_to_it_can_be_read<L: Log>(log: Arc<L>) {
    let mut watched = log.head();
    let writer = Arc::clone(&log);
    let writing = tokio::spawn(elsewhere(async move {
        for _ in 0..30 {
            writer.append(batch(&["a", "b"])).await.unwrap();
        }
    }));

    let mut last = *watched.borrow_and_update();
    while last.seq < Seq(61) {
        watched.changed().await.unwrap();
        let next = *watched.borrow_and_update();
        let newest = log.pick(&[next.seq]).await.unwrap();
        assert!(next.seq > last.seq, "{next} after {last}");
        assert_eq!(newest[0].link, next.link);
        last = next;
    }

    writing.await.unwrap();
    assert_eq!(last.seq, Seq(61));
}

fn places(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.seq.0).collect()
}

pub(crate) async fn reading_is_bounded_and_in_order<L: Log>(log: Arc<L>) {
    log.append(batch(&vec!["a"; 4_000])).await.unwrap();
    log.append(batch(&vec!["b"; 1_000])).await.unwrap();

    let few = log.read(Seq(2), 3).await.unwrap();
    let none = log.read(Seq(2), 0).await.unwrap();
    let most = log.read(Seq::ZERO, usize::MAX).await.unwrap();
    let end = log.read(Seq(5_000), 10).await.unwrap();
    let beyond = [
        log.read(Seq(5_001), 10).await.unwrap(),
        log.read(Seq(u64::MAX), 10).await.unwrap(),
    ];

    assert_eq!(places(&few), [3, 4, 5]);
    assert_eq!(places(&none), [0; 0]);
    assert_eq!(
        (most.len(), most[4_095].seq),
        (READ_RECORDS_MAX, Seq(4_096))
    );
    assert_eq!(places(&end), [5_001]);
    assert_eq!(beyond, [[], []]);
}

pub(crate) async fn picking_keeps_the_order_that_was_asked_for<L: Log>(log: Arc<L>) {
    log.append(batch(&["a", "b", "c"])).await.unwrap();
    let asked = [
        Seq(4),
        Seq(0),
        Seq(2),
        Seq(9),
        Seq(u64::MAX),
        Seq(4),
        Seq(1),
    ];

    let picked = log.pick(&asked).await.unwrap();

    assert_eq!(places(&picked), [4, 2, 4, 1]);
    assert!(log.pick(&[]).await.unwrap().is_empty());
}

pub(crate) async fn many_large_records_are_read_as_if_they_were_few<L: Log>(log: Arc<L>) {
    let drafts = (0..110).map(|_| draft_of_bytes(60_000)).collect();
    log.append(Batch::new(Ids::from_system().batch(), drafts))
        .await
        .unwrap();
    let backwards: Vec<Seq> = (0..=112).rev().map(Seq).collect();

    let read = log.read(Seq(1), 110).await.unwrap();
    let picked = log.pick(&backwards).await.unwrap();

    assert_eq!((read.len(), read[109].seq), (110, Seq(111)));
    assert_eq!(
        (picked.len(), picked[0].seq, picked[110].seq),
        (111, Seq(111), Seq(1))
    );
}

pub(crate) async fn a_payload_opens_as_it_was_given<L: Log>(log: Arc<L>) {
    let mut batch = batch(&["a", "b"]);
    let given = [
        payload(b""),
        payload("caf\u{e9}\0".as_bytes()),
        payload(&vec![7; 300_000]),
    ];
    batch.drafts[1].payloads.extend(given.clone());

    let landed = log.append(batch).await.unwrap();

    let event = log.pick(&[landed.last]).await.unwrap()[0].decode().unwrap();
    assert_eq!(event.payloads.len(), 3);
    for (of, given) in event.payloads.iter().zip(given) {
        let Opened::Present(row) = log.payload(*of).await.unwrap() else {
            panic!("not there")
        };
        assert_eq!(
            (of.role, of.media, of.redacted),
            (Role::Note, Media::Text, 2)
        );
        assert_eq!(of.commitment, given.commitment());
        assert_eq!(
            (row.salt, row.bytes.as_slice()),
            (*given.salt(), given.bytes())
        );
    }
}

pub(crate) async fn a_payload_that_was_never_there_is_missing<L: Log>(log: Arc<L>) {
    let mut batch = batch(&["a"]);
    batch.drafts[0].payloads.push(payload(b"here"));
    let landed = log.append(batch).await.unwrap();
    let mut of = log.pick(&[landed.last]).await.unwrap()[0]
        .decode()
        .unwrap()
        .payloads[0];

    of.index = 1;

    assert_eq!(log.payload(of).await.unwrap(), Opened::Missing);
}

pub(crate) async fn a_payload_with_another_commitment_is_a_fault<L: Log>(log: Arc<L>) {
    let mut batch = batch(&["a"]);
    batch.drafts[0].payloads.push(payload(b"here"));
    let landed = log.append(batch).await.unwrap();
    let mut of = log.pick(&[landed.last]).await.unwrap()[0]
        .decode()
        .unwrap()
        .payloads[0];

    of.commitment = Commitment([9; 32]);

    let fault = log.payload(of).await.unwrap_err();
    let ReadError::Integrity(fault) = fault else {
        panic!("{fault:?}")
    };
    assert_eq!(
        *fault,
        IntegrityFault::PayloadChanged {
            seq: Seq(2),
            index: 0
        }
    );
}

pub(crate) async fn payload_rows_come_in_order_and_in_pieces<L: Log>(log: Arc<L>) {
    let mut batch = batch(&["a", "b", "c"]);
    batch.drafts[0]
        .payloads
        .extend([payload(&vec![1; 3 << 20]), payload(b"two")]);
    batch.drafts[2]
        .payloads
        .extend([payload(&vec![3; 3 << 20]), payload(&vec![4; 9 << 20])]);
    let mut later = crate::conformance::batch(&["a"]);
    later.drafts[0].payloads.push(payload(b"later"));
    let through = log.append(batch.clone()).await.unwrap().last;
    log.append(later).await.unwrap();

    let (mut rows, mut pieces, mut after) = (Vec::new(), 0, (Seq::ZERO, u16::MAX));
    loop {
        let piece = log.payload_rows(after, through).await.unwrap();
        let Some(last) = piece.last() else { break };
        after = (last.seq, last.index);
        rows.extend(piece);
        pieces += 1;
    }

    let places: Vec<_> = rows.iter().map(|row| (row.seq.0, row.index)).collect();
    let given = batch
        .drafts
        .iter()
        .flat_map(|draft| &draft.payloads)
        .map(row::encode);
    assert_eq!(places, [(2, 0), (2, 1), (4, 0), (4, 1)]);
    assert!(rows.into_iter().map(|row| row.row).eq(given));
    assert_eq!(pieces, 3);
}

pub(crate) async fn a_subscription_sees_everything_also_what_comes_while_it_reads<L: Log>(
    log: Arc<L>,
) {
    log.append(batch(&["a", "b"])).await.unwrap();
    let mut subscription = log.subscribe(Seq(1));
    let writer = Arc::clone(&log);
    let writing = tokio::spawn(elsewhere(async move {
        for _ in 0..40 {
            writer.append(batch(&["a", "b", "c"])).await.unwrap();
        }
    }));

    let mut seen = Vec::new();
    while subscription.position() < Seq(123) {
        seen.extend(places(&subscription.next().await.unwrap()));
    }

    writing.await.unwrap();
    assert_eq!(seen, (2..=123).collect::<Vec<u64>>());
}

pub(crate) async fn concurrent_appends_all_land_once_and_densely<L: Log>(log: Arc<L>) {
    let writers: Vec<_> = (0..8)
        .map(|_| {
            let log = Arc::clone(&log);
            tokio::spawn(elsewhere(async move {
                let mut landed = Vec::new();
                for size in [1, 3, 2, 1, 1, 5, 1, 2] {
                    let appended = log.append(batch(&["a"; 5][..size])).await.unwrap();
                    assert_eq!(
                        usize::try_from(appended.last.0 - appended.first.0).unwrap() + 1,
                        size
                    );
                    landed.extend(appended.first.0..=appended.last.0);
                }
                landed
            }))
        })
        .collect();

    let mut landed = Vec::new();
    for writer in writers {
        landed.extend(writer.await.unwrap());
    }

    landed.sort_unstable();
    assert_eq!(landed, (2..=129).collect::<Vec<u64>>());
    let records = read_all(&log).await;
    assert_eq!(verify(&records, head(&log)), head(&log));
    assert_eq!(head(&log).seq, Seq(129));
}

pub(crate) async fn of_concurrent_writers_on_one_condition_one_wins<L: Log>(log: Arc<L>) {
    let writers: Vec<_> = (0..8)
        .map(|_| {
            let log = Arc::clone(&log);
            let batch = batch(&["a"]).expecting(unchanged("a", None));
            tokio::spawn(elsewhere(async move { log.append(batch).await }))
        })
        .collect();

    let mut won = 0;
    for writer in writers {
        match writer.await.unwrap() {
            Ok(_) => won += 1,
            Err(AppendError::Conflict { found, .. }) => assert_eq!(found, Some(Seq(2))),
            Err(other) => panic!("{other:?}"),
        }
    }

    assert_eq!(won, 1);
    assert_eq!(read_all(&log).await.len(), 2);
}

pub(crate) async fn times_never_go_back<L: Log>(log: Arc<L>) {
    for _ in 0..20 {
        log.append(batch(&["a", "b"])).await.unwrap();
    }

    let records = read_all(&log).await;
    let times: Vec<Timestamp> = records
        .iter()
        .map(|record| record.decode().unwrap().at)
        .collect();
    assert!(times.is_sorted());
    assert!(times[0] > Timestamp::default());
}
