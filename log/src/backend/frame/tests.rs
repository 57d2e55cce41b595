//! Frames from hostile, slow and honest peers: read whole, refused, or given up within bounds.

use super::message::{Agreement, Request, ToHost};
use super::wire::{Bytes, WireBatch};
use super::*;
use crate::chain::{Anchor, ChainFault, Link, LogId};
use crate::conformance::{batch, draft};
use crate::contract::{AppendError, Expect, IntegrityFault};
use crate::event::kind::UnknownFact;
use crate::event::{ActorId, ContextId, EventKind, OperationId, Origin, Seq, Subject};
use crate::payload::{Media, Role, row};
use fault::WireAppendError;
use proptest::prelude::*;
use std::sync::Arc;

fn through_the_wire<T: Serialize + DeserializeOwned>(message: &T) -> T {
    decode(&encode(message).unwrap()[LENGTH_BYTES..]).unwrap()
}

#[test]
fn a_batch_arrives_as_it_was_sent() {
    let mut sent = batch(&["a"]).expecting(Expect::Unchanged {
        subject: "task:t-1".parse().unwrap(),
        last: Some(Seq(7)),
    });
    let mut full = draft("b");
    full.subject = Subject::Log;
    full.operation = Some(OperationId::new("op").unwrap());
    full.cause = Some(Seq(3));
    full.origin = Some(Origin::Webhook);
    full.actor = Some(ActorId([4; 16]));
    full.links.context = Some(ContextId::new("c").unwrap());
    full.kind = EventKind::Unknown(UnknownFact {
        kind: "later.thing".into(),
        version: 3,
        facts: Some(r#"{"a":1}"#.into()),
    });
    full.payloads = vec![row::rebuild(Role::Task, Media::Json, 1, &[0; 60]).unwrap()];
    sent.drafts.push(full);

    let arrived = through_the_wire(&WireBatch::of(&sent).unwrap())
        .into_batch()
        .unwrap();

    assert_eq!(arrived, sent);
}

#[test]
fn an_error_arrives_as_the_same_error() {
    let head = Anchor {
        log: LogId([1; 32]),
        seq: Seq(9),
        link: Link([2; 32]),
    };
    let integrity = |fault| AppendError::Integrity(Arc::new(fault));
    let full = Arc::new(io::Error::from_raw_os_error(28));
    let errors: Vec<fn(Anchor, Arc<io::Error>) -> AppendError> = vec![
        |_, _| AppendError::Conflict {
            subject: Subject::Log,
            found: Some(Seq(4)),
        },
        |_, _| AppendError::Empty,
        |_, _| AppendError::TooLarge {
            drafts: 1,
            bytes: 2,
        },
        |_, full| AppendError::Io(full),
        |_, full| AppendError::Poisoned(Some(full)),
        |_, _| AppendError::NewerFormat { needed: 3, ours: 1 },
        |_, _| AppendError::HostLost,
    ];
    let faults = vec![
        IntegrityFault::Chain(ChainFault::Gap {
            expected: Seq(1),
            found: Seq(2),
        }),
        IntegrityFault::Shorter {
            witnessed: head,
            found: head,
        },
        IntegrityFault::OtherLog {
            witnessed: head,
            found: LogId([3; 32]),
        },
        IntegrityFault::PayloadChanged {
            seq: Seq(1),
            index: 2,
        },
    ];
    let all = errors.iter().map(|make| make(head, Arc::clone(&full)));

    for error in all.chain(faults.into_iter().map(integrity)) {
        let text = format!("{error:?}");
        let arrived: AppendError = through_the_wire(&WireAppendError::from(error)).into();
        assert_eq!(format!("{arrived:?}"), text);
    }
}

#[test]
fn a_cause_that_only_the_host_saw_arrives_as_its_text() {
    let cause = io::Error::other("the table is cut");
    let error = AppendError::Store(Arc::new(cause));

    let arrived: AppendError = through_the_wire(&WireAppendError::from(error)).into();

    let source = std::error::Error::source(&arrived).unwrap();
    assert_eq!(source.to_string(), "the table is cut");
}

#[tokio::test]
async fn a_length_beyond_the_bound_ends_the_reading_before_anything_is_allocated() {
    let mut wire: &[u8] = &[0xff, 0xff, 0xff, 0xff, 1, 2, 3];

    let error = read_length(&mut wire, FRAME_BYTES_MAX).await.unwrap_err();

    assert!(matches!(error, FrameError::TooLarge { .. }));
}

#[tokio::test]
async fn a_frame_that_claims_much_and_holds_little_takes_little_memory() {
    let mut wire: &[u8] = &[7; 100];

    let error = read_body(&mut wire, FRAME_BYTES_MAX).await.unwrap_err();

    assert!(matches!(error, FrameError::Cut));
}

#[tokio::test]
async fn the_end_between_two_frames_is_no_error_and_within_one_it_is() {
    let frame = encode(&Request::Head).unwrap();
    let mut whole = frame.as_slice();
    let mut cut = &frame[..frame.len() - 1];
    let mut header = &frame[..2];

    assert!(read::<Request>(&mut whole, 100).await.unwrap().is_some());
    assert!(read::<Request>(&mut whole, 100).await.unwrap().is_none());
    assert!(matches!(
        read::<Request>(&mut cut, 100).await,
        Err(FrameError::Cut)
    ));
    assert!(matches!(
        read::<Request>(&mut header, 100).await,
        Err(FrameError::Cut)
    ));
}

#[tokio::test]
async fn a_stranger_and_another_version_are_told_apart() {
    let mut stranger: &[u8] = b"GET / HTTP/1.1\r\n";
    let mut other: &[u8] = b"missive\0\0\0\0\x09";
    let ours = preamble();

    assert!(matches!(
        read_preamble(&mut stranger).await,
        Err(FrameError::Magic)
    ));
    assert!(matches!(
        read_preamble(&mut other).await,
        Err(FrameError::Protocol(9))
    ));
    assert!(read_preamble(&mut ours.as_slice()).await.is_ok());
}

#[test]
fn two_sides_differ_in_the_first_thing_that_is_not_the_same() {
    let ours = Agreement::of_this_build("views 1".to_owned());
    let theirs = Agreement::of_this_build("views 2".to_owned());

    assert_eq!(ours.differs(&ours.clone()), None);
    assert_eq!(
        ours.differs(&theirs),
        Some(("the views", "views 1".to_owned(), "views 2".to_owned()))
    );
}

#[test]
fn trailing_bytes_make_a_frame_malformed() {
    let mut frame = encode(&Request::Head).unwrap();
    frame.push(0);

    assert!(matches!(
        decode::<Request>(&frame[LENGTH_BYTES..]),
        Err(FrameError::Malformed)
    ));
}

#[test]
fn bytes_travel_as_one_piece() {
    let frame = encode(&Bytes(vec![255; 1_000])).unwrap();

    assert_eq!(frame.len(), LENGTH_BYTES + 2 + 1_000);
}

proptest! {
    #[test]
    fn any_bytes_are_a_message_or_malformed(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(ToHost::Ask { request: Request::Append(batch), .. }) = decode(&bytes) {
            drop(batch.into_batch());
        }
    }
}
