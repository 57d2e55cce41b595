//! The wish of the user that a command ends now.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// A wish to end that may come at any time; it is remembered once it came.
pub struct Interrupt {
    wish: Pin<Box<dyn Future<Output = ()> + Send>>,
    came: bool,
}

impl Interrupt {
    /// Comes when the future is ready.
    pub fn when(wish: impl Future<Output = ()> + Send + 'static) -> Self {
        Self {
            wish: Box::pin(wish),
            came: false,
        }
    }

    /// Never comes.
    pub fn never() -> Self {
        Self::when(std::future::pending())
    }

    /// Waits for it. Dropping the future loses nothing.
    pub async fn came(&mut self) {
        if !self.came {
            self.wish.as_mut().await;
            self.came = true;
        }
    }

    /// Whether it came and was noticed.
    pub fn has_come(&self) -> bool {
        self.came
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interrupt(came: {})", self.came)
    }
}
