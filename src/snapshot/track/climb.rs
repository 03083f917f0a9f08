//! How a counter climbs: which of its steps are growth, which a reset, and which neither.

use jiff::SignedDuration;

use super::tip::{Packed, Stamp};
use crate::snapshot::Kind;

/// What of a series' manner decides how its counter is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Way {
    /// A counter of the board's life: it never starts anew.
    pub(super) lifetime: bool,
    /// Readings closer than this may repeat one collection.
    pub(super) collection: SignedDuration,
}

impl Way {
    pub(super) fn of(kind: Kind, collection: SignedDuration) -> Self {
        Self {
            lifetime: kind == Kind::Lifetime,
            collection,
        }
    }
}

/// A fall that nothing has confirmed or taken back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fall {
    /// The value before it.
    pub(super) high: f64,
    /// The first point after it.
    pub(super) low: Packed,
}

/// What one step amounts to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Climbed {
    /// Growth, with the point that showed it: after a confirmed fall that one's as well.
    pub(super) growth: [(Stamp, f64); 2],
    /// The fall that this step showed to be a reset.
    pub(super) reset: Option<Stamp>,
}

/// Takes a counter one point on. A fall counts once the next collection stays below the value
/// before it; one that is taken back was a glitch, neither a reset nor growth. A counter of the
/// board's life grows only above its highest value.
pub(super) fn climb(last: Packed, fall: &mut Option<Fall>, point: Packed, way: Way) -> Climbed {
    let nothing = (Stamp::NONE, 0.0);
    let mut climbed = Climbed {
        growth: [nothing; 2],
        reset: None,
    };
    let high = match *fall {
        None => last.value,
        Some(Fall { high, .. }) if point.value >= high => high,
        Some(_) if way.lifetime => return climbed,
        Some(Fall { low, .. }) => {
            let repeated = point.value == low.value && point.at.since(low.at) < way.collection;
            if repeated {
                return climbed;
            }
            climbed.reset = Some(low.at);
            climbed.growth[0] = (low.at, low.value);
            low.value
        }
    };
    *fall = if point.value >= high {
        climbed.growth[1] = (point.at, point.value - high);
        None
    } else {
        Some(Fall { high, low: point })
    };
    climbed
}
