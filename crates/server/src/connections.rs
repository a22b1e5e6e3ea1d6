//! Which connections are kept when there are too many.
//!
//! A connection is unproven until it sends a request with a valid token. Unproven connections are
//! limited per address and make room for others, oldest first, so that half-sent requests cannot lock
//! anyone out. A share of all connections is reserved for unproven ones, so that health checks are
//! served however many clients are connected.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::guard::network;
use crate::timeouts::RequestTracker;

/// One in so many connections is reserved for unproven ones.
const RESERVED_SHARE: usize = 8;

/// All open connections.
#[derive(Debug)]
pub(crate) struct Connections {
    count_max: usize,
    per_address_max: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    proven: usize,
    unproven: usize,
    /// The unproven connections of each address, oldest first.
    addresses: HashMap<IpAddr, BTreeMap<u64, Unproven>>,
}

#[derive(Debug)]
struct Unproven {
    closing: CancellationToken,
    tracker: Arc<RequestTracker>,
}

/// An open connection. Dropping it makes room for another.
#[derive(Debug)]
pub(crate) struct Connection {
    all: Arc<Connections>,
    address: IpAddr,
    number: u64,
    is_proven: Mutex<bool>,
    /// Cancelled when the connection has to make room.
    pub(crate) closing: CancellationToken,
}

impl Connections {
    pub(crate) fn new(count_max: usize, per_address_max: usize) -> Arc<Self> {
        Arc::new(Self {
            count_max,
            per_address_max,
            open: Mutex::default(),
        })
    }

    /// Admits a new connection and, if necessary, closes an unproven one. Returns `None` if there is
    /// no room.
    pub(crate) fn admit(
        self: &Arc<Self>,
        peer: IpAddr,
        tracker: &Arc<RequestTracker>,
    ) -> Option<Connection> {
        let address = network(peer);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let of_address = open.addresses.get(&address).map_or(0, BTreeMap::len);
        if of_address >= self.per_address_max {
            // A request in flight may be a delayed reply to a guess, which must not be cut short.
            let is_idle = |unproven: &Unproven| unproven.tracker.awaited().is_some();
            open.close_oldest(address, is_idle)?;
        } else if open.proven + open.unproven >= self.count_max {
            let largest = open.addresses.iter().max_by_key(|(_, each)| each.len());
            let largest = *largest?.0;
            open.close_oldest(largest, |_| true)?;
        }
        let (number, closing) = (open.next, CancellationToken::new());
        open.next += 1;
        open.unproven += 1;
        let unproven = Unproven {
            closing: closing.clone(),
            tracker: Arc::clone(tracker),
        };
        let of_address = open.addresses.entry(address).or_default();
        of_address.insert(number, unproven);
        drop(open);
        Some(Connection {
            all: Arc::clone(self),
            address,
            number,
            is_proven: Mutex::new(false),
            closing,
        })
    }
}

impl Open {
    /// Closes the oldest matching unproven connection of an address.
    fn close_oldest(&mut self, address: IpAddr, matches: impl Fn(&Unproven) -> bool) -> Option<()> {
        let mut all = self.addresses.get(&address)?.iter();
        let oldest = *all.find(|(_, unproven)| matches(unproven))?.0;
        self.remove(address, oldest)?.closing.cancel();
        Some(())
    }

    fn remove(&mut self, address: IpAddr, number: u64) -> Option<Unproven> {
        let of_address = self.addresses.get_mut(&address)?;
        let removed = of_address.remove(&number)?;
        if of_address.is_empty() {
            self.addresses.remove(&address);
        }
        self.unproven -= 1;
        Some(removed)
    }
}

impl Connection {
    /// Marks the connection as one with a valid token. Returns false if there are too many of those,
    /// or if this one is already closing.
    pub(crate) fn prove(&self) -> bool {
        let mut is_proven = self
            .is_proven
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if *is_proven {
            return true;
        }
        let all = &self.all;
        let mut open = all.open.lock().unwrap_or_else(PoisonError::into_inner);
        let proven_max = all.count_max - all.count_max / RESERVED_SHARE;
        if open.proven >= proven_max || open.remove(self.address, self.number).is_none() {
            return false;
        }
        open.proven += 1;
        *is_proven = true;
        true
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let is_proven = *self
            .is_proven
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let mut open = self.all.open.lock().unwrap_or_else(PoisonError::into_inner);
        if is_proven {
            open.proven -= 1;
        } else {
            // It is missing if it had to make room.
            let _ = open.remove(self.address, self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(all: &Arc<Connections>, address: u8) -> Option<Connection> {
        let peer = IpAddr::from([10, 0, 0, address]);
        all.admit(peer, &Arc::default())
    }

    fn is_open(connection: &Connection) -> bool {
        !connection.closing.is_cancelled()
    }

    #[test]
    fn an_address_over_its_limit_closes_its_own_oldest_connection() {
        let all = Connections::new(100, 2);
        let other = admit(&all, 1).unwrap();
        let mine: Vec<_> = (0..4).map(|_| admit(&all, 2).unwrap()).collect();
        let open: Vec<_> = mine.iter().map(is_open).collect();
        assert_eq!(open, [false, false, true, true]);
        assert!(is_open(&other));
        assert!(!mine[0].prove(), "it is closing");
    }

    #[test]
    fn a_delayed_reply_to_a_guess_makes_no_room_for_the_next_guess() {
        let all = Connections::new(100, 1);
        let tracker = Arc::new(RequestTracker::default());
        let peer = IpAddr::from([10, 0, 0, 1]);
        let guess = all.admit(peer, &tracker).unwrap();
        let in_flight = tracker.start();
        assert!(all.admit(peer, &Arc::default()).is_none());
        assert!(is_open(&guess));
        drop(in_flight);
        assert!(all.admit(peer, &Arc::default()).is_some());
    }

    #[test]
    fn a_full_server_closes_unproven_connections_of_the_largest_address() {
        let all = Connections::new(8, 8);
        let proven = admit(&all, 1).unwrap();
        assert!(proven.prove() && proven.prove());
        let small = admit(&all, 2).unwrap();
        let large: Vec<_> = (0..6).map(|_| admit(&all, 3).unwrap()).collect();
        let new = admit(&all, 4).unwrap();
        assert!([&proven, &small, &new, &large[1]].into_iter().all(is_open));
        assert!(!is_open(&large[0]));
    }

    #[test]
    fn a_share_is_reserved_for_connections_without_a_token() {
        let all = Connections::new(8, 8);
        let proven: Vec<_> = (0..7)
            .map(|n| admit(&all, n).unwrap())
            .filter(Connection::prove)
            .collect();
        assert_eq!(proven.len(), 7);
        let eighth = admit(&all, 8).unwrap();
        assert!(!eighth.prove(), "the last one is reserved");
        assert!(is_open(&eighth));
        let ninth = admit(&all, 9).unwrap();
        assert!(!is_open(&eighth) && is_open(&ninth));
        drop(proven);
        assert!(ninth.prove());
    }
}
