//! A host that takes a batch in and goes away before it says so: the one case that only the batch id resolves.

use super::*;
use std::sync::atomic::AtomicBool;

/// Lands the first append, and answers as if the host had died in between.
struct Forgetful {
    log: Arc<MemoryLog>,
    forgets: Arc<AtomicBool>,
}

impl Log for Forgetful {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        let appended = self.log.append(batch).await?;
        if self.forgets.swap(false, Ordering::Relaxed) {
            return Err(AppendError::HostLost);
        }
        Ok(appended)
    }

    async fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, ReadError> {
        self.log.read(after, limit).await
    }

    async fn pick(&self, places: &[Seq]) -> Result<Vec<Record>, ReadError> {
        self.log.pick(places).await
    }

    fn head(&self) -> watch::Receiver<Head> {
        self.log.head()
    }

    async fn payload(&self, of: PayloadRef) -> Result<Opened, ReadError> {
        self.log.payload(of).await
    }

    async fn payload_rows(
        &self,
        after: (Seq, u16),
        through: Seq,
    ) -> Result<Vec<StoredPayload>, ReadError> {
        self.log.payload_rows(after, through).await
    }
}

#[derive(Clone)]
struct Host(Kept, Arc<AtomicBool>);

impl Hosting for Host {
    type Log = Forgetful;
    type Companion = Echo;

    fn fingerprint(&self) -> String {
        self.0.fingerprint()
    }

    fn open(&self, guard: Arc<LockGuard>) -> Result<Opening<Self>, StationError> {
        let (log, echo) = self.0.open(guard)?;
        let forgets = Arc::clone(&self.1);
        Ok((Arc::new(Forgetful { log, forgets }), echo))
    }

    fn close(&self, log: Arc<Forgetful>, echo: Arc<Echo>) {
        self.0.close(Arc::clone(&log.log), echo);
    }
}

#[tokio::test]
async fn an_append_that_landed_without_an_answer_is_repeated_and_lands_once() {
    let world = World::new();
    let host = Host(world.kept.clone(), Arc::new(AtomicBool::new(true)));
    let _first = Station::open(host.clone(), world.place()).await.unwrap();
    let attached = Station::open(host.clone(), world.place()).await.unwrap();

    let appended = within_reason(attached.append(batch(&["a", "b"])))
        .await
        .unwrap();

    assert_eq!((appended.first, appended.last), (Seq(2), Seq(3)));
    assert!(!host.1.load(Ordering::Relaxed), "the first answer was lost");
    assert_eq!(world.kept.log.head().borrow().seq, Seq(3));
}
