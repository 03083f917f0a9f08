//! The products, one a row.

use super::Basis::{self, Calculated, Documented, Dump, Estimated, General};
use super::PcieGeneration::{Gen3, Gen4, Gen5};
use super::{Fact, Margin, MemoryLimit, Product};

#[expect(clippy::unnecessary_wraps, reason = "the fields it fills are options")]
const fn fact<T: Copy>(value: T, basis: Basis) -> Option<Fact<T>> {
    Some(Fact { value, basis })
}

const fn memory(celsius: u16, basis: Basis) -> MemoryLimit {
    MemoryLimit::Celsius(Fact {
        value: celsius,
        basis,
    })
}

const fn margin(slowdown: i16, shutdown: Option<i16>, basis: Basis) -> Option<Fact<Margin>> {
    fact(
        Margin {
            slowdown_celsius: slowdown,
            shutdown_celsius: shutdown,
        },
        basis,
    )
}

/// A product of which only the name is known.
const fn product(
    name: &'static str,
    family: &'static [&'static str],
    forms: &'static [&'static str],
) -> Product {
    Product {
        name,
        family,
        forms,
        core_max_operating_celsius: None,
        core_slowdown_celsius: None,
        core_shutdown_celsius: None,
        memory_max_operating: MemoryLimit::Unknown,
        margin: None,
        default_power_watts: None,
        idle_power_watts: None,
        pcie: None,
        note: None,
    }
}

impl Product {
    /// Core temperatures: maximum operating, slowdown, shutdown.
    const fn core(mut self, max_operating: u16, slowdown: u16, shutdown: u16, on: Basis) -> Self {
        self.core_max_operating_celsius = fact(max_operating, on);
        self.core_slowdown_celsius = fact(slowdown, on);
        self.core_shutdown_celsius = fact(shutdown, on);
        self
    }
}

const fn v100(name: &'static str, forms: &'static [&'static str]) -> Product {
    Product {
        memory_max_operating: memory(85, Dump),
        pcie: fact(Gen3, General),
        note: Some("memory slows from 85 C, below the limit common elsewhere"),
        ..product(name, &["V100"], forms).core(83, 87, 90, Dump)
    }
}

const OTHER_FORM: &str = "limits of this form factor are not known";

pub(super) static PRODUCTS: &[Product] = &[
    Product {
        default_power_watts: fact(300, Estimated),
        ..v100("V100 SXM", &["SXM"])
    },
    Product {
        default_power_watts: fact(250, Estimated),
        ..v100("V100 PCIe", &["PCIE"])
    },
    Product {
        pcie: fact(Gen3, General),
        note: Some(OTHER_FORM),
        ..product("V100, other form", &["V100"], &[])
    },
    Product {
        memory_max_operating: MemoryLimit::NoSensor,
        default_power_watts: fact(70, Dump),
        idle_power_watts: fact(9, Basis::Sample),
        pcie: fact(Gen3, General),
        ..product("T4", &["T4"], &[]).core(85, 93, 96, Dump)
    },
    Product {
        memory_max_operating: MemoryLimit::NoSensor,
        default_power_watts: fact(300, Dump),
        pcie: fact(Gen4, General),
        ..product("A10G", &["A10G"], &[]).core(88, 95, 98, Dump)
    },
    Product {
        memory_max_operating: memory(95, Dump),
        default_power_watts: fact(400, Dump),
        pcie: fact(Gen4, General),
        note: Some("some boards report 83, 87 and 92 C"),
        ..product("A100 SXM", &["A100"], &["SXM"]).core(85, 89, 92, Dump)
    },
    Product {
        pcie: fact(Gen4, General),
        note: Some(OTHER_FORM),
        ..product("A100, other form", &["A100"], &[])
    },
    Product {
        memory_max_operating: memory(95, Dump),
        margin: margin(-2, Some(-8), Dump),
        default_power_watts: fact(700, Dump),
        pcie: fact(Gen5, General),
        note: Some("older VBIOS reports absolute limits, newer ones the margin"),
        ..product("H100 SXM", &["H100"], &["SXM", "HBM3"]).core(87, 89, 92, Dump)
    },
    Product {
        pcie: fact(Gen5, General),
        note: Some(OTHER_FORM),
        ..product("H100, other form", &["H100"], &[])
    },
    Product {
        pcie: fact(Gen5, General),
        note: Some(OTHER_FORM),
        ..product("H200 NVL", &["H200"], &["NVL", "PCIE"])
    },
    Product {
        memory_max_operating: memory(95, Dump),
        margin: margin(-2, Some(-8), Dump),
        default_power_watts: fact(700, Dump),
        pcie: fact(Gen5, General),
        ..product("H200 SXM", &["H200"], &[]).core(87, 89, 95, Dump)
    },
    Product {
        core_max_operating_celsius: fact(87, Calculated),
        memory_max_operating: memory(95, Dump),
        margin: margin(-2, Some(-8), Dump),
        default_power_watts: fact(900, Estimated),
        note: Some("reports only the margin; power limits of 900 to 1000 W are seen"),
        ..product("GH200", &["GH200"], &[])
    },
    Product {
        memory_max_operating: MemoryLimit::NoSensor,
        margin: margin(-2, Some(-5), Estimated),
        default_power_watts: fact(72, Estimated),
        pcie: fact(Gen4, General),
        note: Some("the dump does not name the product: told by its 72 W limit"),
        ..product("L4", &["L4"], &[]).core(86, 88, 91, Estimated)
    },
    Product {
        margin: margin(-2, None, Documented),
        note: Some("only the margin is known"),
        ..product("L40", &["L40"], &[])
    },
    Product {
        memory_max_operating: MemoryLimit::NoSensor,
        margin: margin(-2, Some(-5), Estimated),
        default_power_watts: fact(350, Estimated),
        pcie: fact(Gen4, General),
        note: Some("the dump does not name the product: told by its 350 W limit"),
        ..product("L40S", &["L40S"], &[]).core(87, 89, 92, Estimated)
    },
    Product {
        core_slowdown_celsius: fact(91, Dump),
        default_power_watts: fact(300, Dump),
        note: Some("from one dump"),
        ..product("RTX 6000 Ada", &["RTX", "6000", "ADA"], &[])
    },
    Product {
        margin: margin(-3, Some(-5), Documented),
        default_power_watts: fact(1000, General),
        pcie: fact(Gen5, General),
        note: Some("absolute temperatures are worked out from the margin's offsets"),
        ..product("B200", &["B200"], &[]).core(88, 91, 93, Calculated)
    },
    Product {
        margin: margin(-2, None, Documented),
        note: Some("only the margin is known"),
        ..product("GB200", &["GB200"], &[])
    },
    Product {
        margin: margin(-2, None, Documented),
        note: Some("only the margin is known"),
        ..product("GB300", &["GB300"], &[])
    },
];
