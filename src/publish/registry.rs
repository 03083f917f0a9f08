//! Who is connected, so that a new client can take the place of one that does nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Phase {
    /// No request is complete: it is idle, or its header is on its way.
    Waiting,
    /// An answer is made; the client has yet to take all of it.
    Answered,
    /// A request is being answered.
    Busy,
}

/// One connection, as it and the registry see it.
#[derive(Debug)]
pub(super) struct Activity {
    phase: AtomicU8,
    /// When the phase began, on the registry's count of changes.
    since: AtomicU64,
    changes: Arc<AtomicU64>,
    evicted: Notify,
}

impl Activity {
    pub(super) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Waiting,
            1 => Phase::Answered,
            _ => Phase::Busy,
        }
    }

    pub(super) fn enter(&self, phase: Phase) {
        let now = self.changes.fetch_add(1, Ordering::Relaxed);
        self.since.store(now, Ordering::Relaxed);
        self.phase.store(phase as u8, Ordering::Release);
    }

    /// Ends when the connection is to give up its place.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

/// The connections.
#[derive(Debug, Default)]
pub(super) struct Connections {
    changes: Arc<AtomicU64>,
    entries: Mutex<BTreeMap<u64, Arc<Activity>>>,
}

impl Connections {
    /// Enters a connection; it is left out again when the guard goes.
    pub(super) fn enter(self: &Arc<Self>) -> Entry {
        let id = self.changes.fetch_add(1, Ordering::Relaxed);
        let activity = Arc::new(Activity {
            phase: AtomicU8::new(Phase::Waiting as u8),
            since: AtomicU64::new(id),
            changes: self.changes.clone(),
            evicted: Notify::new(),
        });
        self.lock().insert(id, activity.clone());
        Entry {
            id,
            activity,
            connections: self.clone(),
        }
    }

    /// Tells the connection that can best be missed to go: the one that has waited longest,
    /// else the one that has longest not taken its answer. False where all are being answered.
    pub(super) fn evict(&self) -> bool {
        let mut entries = self.lock();
        let oldest = entries
            .iter()
            .map(|(id, activity)| {
                let since = activity.since.load(Ordering::Relaxed);
                (activity.phase(), since, *id)
            })
            .filter(|(phase, ..)| *phase != Phase::Busy)
            .min();
        let Some(activity) = oldest.and_then(|(_, _, id)| entries.remove(&id)) else {
            return false;
        };
        activity.evicted.notify_one();
        true
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Activity>>> {
        // A map of counters: a panic elsewhere cannot leave it half done.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's place in the registry.
#[derive(Debug)]
pub(super) struct Entry {
    id: u64,
    pub(super) activity: Arc<Activity>,
    connections: Arc<Connections>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.connections.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_longest_goes_first_and_who_is_answered_stays() {
        let connections = Arc::new(Connections::default());
        let [a, b, c, d] = [(); 4].map(|()| connections.enter());
        a.activity.enter(Phase::Busy);
        b.activity.enter(Phase::Answered);
        c.activity.enter(Phase::Busy);
        c.activity.enter(Phase::Waiting);
        let gone = |entry: &Entry| !connections.lock().contains_key(&entry.id);
        for expected in [&d, &c, &b] {
            assert!(!gone(expected));
            assert!(connections.evict());
            assert!(gone(expected));
        }
        assert!(!connections.evict());
        assert!(!gone(&a));
        drop(a);
        assert!(connections.lock().is_empty());
    }
}
