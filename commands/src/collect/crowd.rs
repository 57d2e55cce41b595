//! Several things under way at once: bounded, under one deadline, ended by one wish.

use std::future::Future;

use futures_util::StreamExt as _;
use tokio::sync::watch;

use crate::interrupt::Interrupt;

/// One wish to end for many: who asks for it once it came gets it at once.
#[derive(Clone, Debug)]
pub(crate) struct Wish(watch::Receiver<bool>);

impl Wish {
    /// The wish for one of them.
    pub(crate) fn interrupt(&self) -> Interrupt {
        let mut wish = self.0.clone();
        Interrupt::when(async move {
            // Who holds the other end only drops it when nobody waits any more.
            if wish.wait_for(|came| *came).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }

    /// Whether it came.
    pub(crate) fn has_come(&self) -> bool {
        *self.0.borrow()
    }
}

/// A wish that has not come, and what makes it come.
pub(super) fn wish() -> (watch::Sender<bool>, Wish) {
    let (send, receive) = watch::channel(false);
    (send, Wish(receive))
}

/// Runs `one` for every item, at most `at_once` of them side by side, in the order in which they are
/// given. Everyone is told of the user's wish to end and says itself what came of it: nothing is cut off
/// in the middle. What came of each is given in the order of the items.
pub(crate) async fn all<I, T, F: Future<Output = T>>(
    items: impl IntoIterator<Item = I>,
    at_once: usize,
    interrupt: &mut Interrupt,
    one: impl Fn(I, Wish) -> F,
) -> Vec<T> {
    let (send, wish) = wish();
    let numbered = items.into_iter().enumerate();
    let under_way = futures_util::stream::iter(numbered)
        .map(|(number, item)| {
            let done = one(item, wish.clone());
            async move { (number, done.await) }
        })
        .buffer_unordered(at_once.max(1))
        .collect::<Vec<_>>();
    tokio::pin!(under_way);
    let mut done = tokio::select! {
        done = &mut under_way => done,
        () = interrupt.came() => {
            // Those who wait are told; the channel cannot be closed, since `wish` is held here.
            send.send_replace(true);
            under_way.await
        }
    };
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn no_more_than_asked_for_are_under_way_and_the_order_is_kept() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));

        let done = all(0..20, 3, &mut Interrupt::never(), async |number, _| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            now.fetch_sub(1, Ordering::SeqCst);
            number
        })
        .await;

        assert_eq!(done, (0..20).collect::<Vec<_>>());
        assert_eq!(most.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn a_wish_to_end_reaches_everyone_and_those_who_come_later() {
        let mut interrupt = Interrupt::when(tokio::task::yield_now());

        let told = all(0..8, 2, &mut interrupt, async |_, wish: Wish| {
            wish.interrupt().came().await;
            wish.has_come()
        })
        .await;

        assert_eq!(told, [true; 8]);
    }
}
