//! Shutdown, with one deadline for all tasks.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// Begins the shutdown.
#[derive(Debug)]
pub(crate) struct Stop(watch::Sender<Option<Instant>>);

/// Waits for the shutdown and its deadline.
#[derive(Debug, Clone)]
pub(crate) struct Stopped(watch::Receiver<Option<Instant>>);

pub(crate) fn channel() -> (Stop, Stopped) {
    let (sender, receiver) = watch::channel(None);
    (Stop(sender), Stopped(receiver))
}

impl Stop {
    /// Begins the shutdown, with a deadline `time` from now. A second call moves the deadline.
    pub(crate) fn within(&self, time: Duration) {
        self.0.send_replace(Some(Instant::now() + time));
    }
}

impl Stopped {
    pub(crate) fn is_stopping(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Waits until the shutdown begins.
    pub(crate) async fn begun(&mut self) {
        // If the sender is gone, the program is ending.
        let _ = self.0.wait_for(Option::is_some).await;
    }

    /// Waits until the deadline, which may be moved in the meantime.
    pub(crate) async fn expired(&mut self) {
        loop {
            self.begun().await;
            let deadline = *self.0.borrow_and_update();
            tokio::select! {
                () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)) => return,
                changed = self.0.changed() => if changed.is_err() { return },
            }
        }
    }
}

/// Waits for SIGINT or SIGTERM.
pub(crate) async fn signal() {
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        return;
    }
    let _ = tokio::signal::ctrl_c().await;
}
