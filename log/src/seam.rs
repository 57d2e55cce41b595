//! Two of the three seams through which the world enters: the clock, and randomness.
//!
//! (The third, the outside, belongs to the room that acts.) Everything else is a function of events.

use crate::chain::Salt;
use crate::event::facts::Nonce;
use crate::event::{ActorId, BatchId, EventId, HostId, InstanceId, OperationId, Timestamp};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The wall clock.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The moment.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(u64::try_from(jiff::Timestamp::now().as_microsecond()).unwrap_or(0))
    }
}

/// A clock that stands still until it is told; for tests and seeded runs.
#[derive(Debug, Default)]
pub struct FrozenClock(AtomicU64);

impl FrozenClock {
    /// A clock that shows this moment.
    pub fn at(moment: Timestamp) -> Self {
        Self(AtomicU64::new(moment.as_micros()))
    }

    /// Sets it.
    pub fn set(&self, moment: Timestamp) {
        self.0.store(moment.as_micros(), Ordering::Relaxed);
    }
}

impl Clock for FrozenClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// Where random bytes come from: the kernel in life, a seed in tests.
pub trait Randomness: Send + Sync + std::fmt::Debug {
    /// Fills the bytes.
    fn fill(&self, bytes: &mut [u8]);
    /// Whether the bytes can be foretold, so that salts hide nothing.
    fn is_seeded(&self) -> bool;
}

/// The kernel's generator, asked for some kilobytes at a time: an event needs a hundred random bytes.
#[derive(Default)]
pub struct KernelRandomness(Mutex<Vec<u8>>);

/// How many bytes the kernel is asked for at once.
const KERNEL_BYTES: usize = 4_096;

impl std::fmt::Debug for KernelRandomness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KernelRandomness(..)")
    }
}

impl Randomness for KernelRandomness {
    /// # Panics
    /// If the kernel has no randomness: salts that can be guessed would publish what they hide.
    #[expect(clippy::expect_used, reason = "no run may go on with guessable salts")]
    fn fill(&self, bytes: &mut [u8]) {
        let mut stock = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if stock.len() < bytes.len() {
            stock.resize(KERNEL_BYTES.max(bytes.len()), 0);
            getrandom::fill(&mut stock).expect("the kernel gives random bytes");
        }
        // Taken from the end and gone from the stock: no byte is given out twice.
        let rest = stock.len() - bytes.len();
        bytes.copy_from_slice(stock.get(rest..).unwrap_or_default());
        stock.truncate(rest);
    }

    fn is_seeded(&self) -> bool {
        false
    }
}

/// Bytes that follow from a seed and from where the log stood when the process began.
#[derive(Debug)]
pub struct SeededRandomness(Mutex<blake3::OutputReader>);

impl SeededRandomness {
    /// A stream of its own for each seed and starting place.
    pub fn new(seed: &[u8], place: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("missive 2026-12 test seed v1");
        hasher.update(&u64::try_from(seed.len()).unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(seed);
        hasher.update(place);
        Self(Mutex::new(hasher.finalize_xof()))
    }
}

impl Randomness for SeededRandomness {
    fn fill(&self, bytes: &mut [u8]) {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .fill(bytes);
    }

    fn is_seeded(&self) -> bool {
        true
    }
}

/// Makes identifiers and salts: the clock and the randomness of one process.
#[derive(Debug)]
pub struct Ids {
    clock: Box<dyn Clock>,
    randomness: Box<dyn Randomness>,
}

impl Ids {
    /// Identifiers from these two.
    pub fn new(clock: impl Clock + 'static, randomness: impl Randomness + 'static) -> Self {
        Self {
            clock: Box::new(clock),
            randomness: Box::new(randomness),
        }
    }

    /// Identifiers as in life.
    pub fn from_system() -> Self {
        Self::new(SystemClock, KernelRandomness::default())
    }

    /// The moment.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Whether identifiers and salts can be foretold.
    pub fn is_seeded(&self) -> bool {
        self.randomness.is_seeded()
    }

    /// `N` random bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.randomness.fill(&mut bytes);
        bytes
    }

    /// A UUID version 7 (RFC 9562): its order is the order of the clock.
    pub fn uuid(&self) -> uuid::Uuid {
        let random: [u8; 10] = self.bytes();
        uuid::Builder::from_unix_timestamp_millis(self.now().as_micros() / 1_000, &random)
            .into_uuid()
    }

    /// The identifier of a new event.
    pub fn event(&self) -> EventId {
        EventId(self.uuid().into_bytes())
    }

    /// The identifier of a new append.
    pub fn batch(&self) -> BatchId {
        BatchId(self.bytes())
    }

    /// The identifier of a new operation.
    ///
    /// # Panics
    /// Never: the text of a UUID is an operation id.
    #[expect(clippy::expect_used, reason = "the text of a UUID fits the grammar")]
    pub fn operation(&self) -> OperationId {
        OperationId::new(&self.uuid().to_string()).expect("a UUID is an operation id")
    }

    /// An identifier of this process as host.
    pub fn host(&self) -> HostId {
        HostId(self.bytes())
    }

    /// An identifier of this run of the program.
    pub fn instance(&self) -> InstanceId {
        InstanceId(self.bytes())
    }

    /// An identifier of somebody who acts.
    pub fn actor(&self) -> ActorId {
        ActorId(self.bytes())
    }

    /// A salt, for one payload only.
    pub fn salt(&self) -> Salt {
        Salt(self.bytes())
    }

    /// A nonce for a new log.
    pub fn nonce(&self) -> Nonce {
        Nonce(self.bytes())
    }
}
