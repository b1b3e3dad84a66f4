//! The end of the program: one deadline for everything that still goes on.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// Announces the end.
#[derive(Debug)]
pub(crate) struct Stop(watch::Sender<Option<Instant>>);

/// Learns of the end.
#[derive(Debug, Clone)]
pub(crate) struct Stopped(watch::Receiver<Option<Instant>>);

pub(crate) fn channel() -> (Stop, Stopped) {
    let (sender, receiver) = watch::channel(None);
    (Stop(sender), Stopped(receiver))
}

impl Stop {
    /// Sets how long everything may go on from now.
    pub(crate) fn within(&self, time: Duration) {
        self.0.send_replace(Some(Instant::now() + time));
    }
}

impl Stopped {
    pub(crate) fn is_stopping(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Waits until the program is to stop.
    pub(crate) async fn begun(&mut self) {
        // Without a sender, the program ends.
        let _ = self.0.wait_for(Option::is_some).await;
    }

    /// Waits until the time is over. The deadline may be moved.
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
