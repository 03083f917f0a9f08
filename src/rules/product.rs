//! Limits of GPU products, for when a GPU does not export its own.
//!
//! A value the GPU exports (slowdown, maximum operating or margin temperature, enforced power limit)
//! always comes before this table. Each value here carries its [`Basis`]: much of what is known about
//! boards is read from `nvidia-smi` dumps in public issues or inferred, and single boards differ.
//! What is not known is `None` or [`MemoryLimit::Unknown`], never a neighbour's value.
//!
//! The table speaks of whole boards. Under MIG or sharing the board's limits hold for the board, not
//! for the instance or replica.

mod catalogue;

#[cfg(test)]
mod tests;

/// What is known about one GPU product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// The product and form factor, for display.
    pub name: &'static str,
    /// The words that the name starts with after the vendor's, upper case.
    family: &'static [&'static str],
    /// Beginnings of a further word, one of which must be there; empty: any form.
    forms: &'static [&'static str],
    /// Highest core temperature for full performance.
    pub core_max_operating_celsius: Option<Fact<u16>>,
    /// Core temperature at which the hardware slows its clocks.
    pub core_slowdown_celsius: Option<Fact<u16>>,
    /// Core temperature at which the GPU shuts down.
    pub core_shutdown_celsius: Option<Fact<u16>>,
    /// Highest memory temperature for full performance.
    pub memory_max_operating: MemoryLimit,
    /// How to read the exported margin to the core limit (DCGM field 153); `None`: the product has
    /// none, or it is not known.
    pub margin: Option<Fact<Margin>>,
    /// Power limit as shipped; the lower one where boards of the name differ.
    pub default_power_watts: Option<Fact<u16>>,
    /// Power drawn without work: a hint from readings, not a limit.
    pub idle_power_watts: Option<Fact<u16>>,
    /// Generation of the `PCIe` host link; the width is taken to be x16.
    pub pcie: Option<Fact<PcieGeneration>>,
    /// A caution about the row.
    pub note: Option<&'static str>,
}

impl Product {
    /// `PCIe` replays a minute that the host link may show while healthy, at x16.
    ///
    /// Only more than this is a finding. The link may have trained to a lower generation or width
    /// than the product can, which the exporter does not show by default.
    #[must_use]
    pub fn replay_allowance_per_minute(&self) -> Option<Fact<u16>> {
        let pcie = self.pcie?;
        Some(Fact {
            value: pcie.value.replay_allowance_per_minute(16),
            basis: pcie.basis,
        })
    }
}

/// A value and what it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact<T> {
    /// The value.
    pub value: T,
    /// What it rests on.
    pub basis: Basis,
}

/// What a value rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Read in `nvidia-smi -q` dumps in public issues.
    Dump,
    /// Stated in a published design document (`NVSentinel` ADR 042).
    Documented,
    /// Read in a public sample of the exporter's output.
    Sample,
    /// Worked out from offsets or from a sibling product.
    Calculated,
    /// Read in a dump or report whose product had to be guessed, or the lower end of a range.
    Estimated,
    /// General knowledge of the product, not looked up.
    General,
}

impl Basis {
    /// Whether the value was inferred rather than read for this very product.
    #[must_use]
    pub const fn is_inferred(self) -> bool {
        matches!(self, Self::Calculated | Self::Estimated | Self::General)
    }

    /// The source, for display beside the value.
    #[must_use]
    pub const fn source(self) -> &'static str {
        match self {
            Self::Dump => "nvidia-smi dumps in public issues",
            Self::Documented => "NVSentinel design document 042",
            Self::Sample => "a public sample of exporter output",
            Self::Calculated => "inferred from offsets or a sibling product",
            Self::Estimated => {
                "inferred from a dump of a product without its name, or from a range"
            }
            Self::General => "general knowledge of the product",
        }
    }
}

/// The memory temperature limit of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryLimit {
    /// The limit in degrees Celsius.
    Celsius(Fact<u16>),
    /// The product has no memory temperature sensor: a reading is not to be expected.
    NoSensor,
    /// Not known.
    Unknown,
}

impl MemoryLimit {
    /// The limit in degrees Celsius, where there is one.
    #[must_use]
    pub const fn celsius(self) -> Option<u16> {
        match self {
            Self::Celsius(fact) => Some(fact.value),
            Self::NoSensor | Self::Unknown => None,
        }
    }
}

/// Thresholds on the exported temperature margin, which is 0 at the maximum operating temperature
/// and negative above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Margin {
    /// The hardware slows its clocks below this margin.
    pub slowdown_celsius: i16,
    /// The GPU shuts down below this margin.
    pub shutdown_celsius: Option<i16>,
}

/// Generation of a `PCIe` link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PcieGeneration {
    /// 2.5 GT/s a lane.
    Gen1,
    /// 5 GT/s a lane.
    Gen2,
    /// 8 GT/s a lane.
    Gen3,
    /// 16 GT/s a lane.
    Gen4,
    /// 32 GT/s a lane.
    Gen5,
    /// 64 GT/s a lane.
    Gen6,
}

impl PcieGeneration {
    /// The generation of a number from 1 to 6, as DCGM's link generation field gives it.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Gen1,
            2 => Self::Gen2,
            3 => Self::Gen3,
            4 => Self::Gen4,
            5 => Self::Gen5,
            6 => Self::Gen6,
            _ => return None,
        })
    }

    /// Replays a minute that the bit error rate a link is allowed by specification explains.
    ///
    /// DCGM's own estimate: 0.06 a minute for each GT/s of each lane, rounded up.
    #[must_use]
    pub const fn replay_allowance_per_minute(self, lanes: u8) -> u16 {
        let tenths_of_gigatransfers = match self {
            Self::Gen1 => 25,
            Self::Gen2 => 50,
            Self::Gen3 => 80,
            Self::Gen4 => 160,
            Self::Gen5 => 320,
            Self::Gen6 => 640,
        };
        let thousandths: u32 = 6 * tenths_of_gigatransfers * lanes as u32;
        thousandths.div_ceil(1000) as u16
    }
}

/// The product of a DCGM `modelName` or a `nvidia.com/gpu.product` label; `None` for a name the
/// table does not know.
///
/// Case, the vendor's words, and what marks sharing or MIG (`-SHARED`, `-MIG-1g.5gb`) do not matter.
/// Words are compared whole, so a T400 is not a T4. A vGPU profile (`A100-40C`) is no match: its guest
/// sees neither the board's sensors nor its link.
#[must_use]
pub fn lookup(model: &str) -> Option<&'static Product> {
    // No product of the table has more words than this in its name.
    let mut name = [""; 6];
    let mut count = 0;
    for word in words(model) {
        if is_vgpu_profile(word) {
            return None;
        }
        *name.get_mut(count)? = word;
        count += 1;
    }
    let name = &name[..count];
    catalogue::PRODUCTS.iter().find(|product| {
        let Some((family, rest)) = name.split_at_checked(product.family.len()) else {
            return false;
        };
        family
            .iter()
            .zip(product.family)
            .all(|(word, model)| word.eq_ignore_ascii_case(model))
            && (product.forms.is_empty()
                || rest
                    .iter()
                    .any(|word| begins_with_any_of(word, product.forms)))
    })
}

/// The whole table; of two rows for one family the stricter one comes first.
#[must_use]
pub fn all() -> &'static [Product] {
    catalogue::PRODUCTS
}

/// The words of a name from behind the vendor's up to what starts a MIG profile or marks sharing.
fn words(model: &str) -> impl Iterator<Item = &str> {
    model
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .skip_while(|word| is_any_of(word, &["NVIDIA", "TESLA"]))
        .take_while(|word| !is_any_of(word, &["MIG", "SHARED"]))
}

fn is_any_of(word: &str, names: &[&str]) -> bool {
    names.iter().any(|name| word.eq_ignore_ascii_case(name))
}

fn begins_with_any_of(word: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|start| {
        word.get(..start.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(start))
    })
}

/// Framebuffer size and vGPU series, such as 40C or 24Q.
fn is_vgpu_profile(word: &str) -> bool {
    word.strip_suffix(['A', 'B', 'C', 'Q', 'a', 'b', 'c', 'q'])
        .is_some_and(|size| !size.is_empty() && size.bytes().all(|b| b.is_ascii_digit()))
}
