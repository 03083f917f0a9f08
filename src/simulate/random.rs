//! Numbers that look random and never change.

use std::fmt::Write as _;

/// Where streams of numbers start. Each thing in a fleet draws from a stream of its own name,
/// so that adding one changes no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream with a name.
    #[must_use]
    pub fn stream(self, name: &str) -> Random {
        // FNV-1a: the standard library's hashers may change between versions.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Random(self.0 ^ hash)
    }
}

/// A stream of numbers (splitmix64, Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number from 0 up to but not including 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number between −1 and 1, most often near 0.
    pub fn wobble(&mut self) -> f64 {
        self.unit() - self.unit()
    }

    /// A text of the form of a UUID.
    pub fn uuid(&mut self) -> String {
        let (high, low) = (self.bits(), self.bits());
        let digits = format!("{high:016x}{low:016x}");
        let mut text = String::with_capacity(36);
        for (part, at) in [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)] {
            let dash = if part == 0 { "" } else { "-" };
            // Writing to a String cannot fail.
            let _ = write!(text, "{dash}{}", &digits[part..at]);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_splitmix64() {
        // First outputs for state 1234567, from the reference implementation.
        let mut random = Random(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn streams_differ_by_name_and_stay_in_bounds() {
        let mut one = Seed(7).stream("gpu 0");
        let mut two = Seed(7).stream("gpu 1");
        assert_ne!(one.bits(), two.bits());
        assert!((0..10_000).all(|_| (0.0..1.0).contains(&one.unit())));
        assert!((0..10_000).all(|_| one.wobble().abs() < 1.0));
        assert_eq!(one.uuid().len(), 36);
    }
}
