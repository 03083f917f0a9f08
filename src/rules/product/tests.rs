use super::Basis::{Calculated, Documented, Estimated, General};
use super::PcieGeneration::{Gen3, Gen4};
use super::*;

fn name(model: &str) -> Option<&'static str> {
    lookup(model).map(|product| product.name)
}

fn known(model: &str) -> &'static Product {
    lookup(model).unwrap_or_else(|| panic!("{model} is not in the table"))
}

#[test]
fn names_as_dcgm_and_feature_discovery_give_them() {
    let cases = [
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA-H100-80GB-HBM3", "H100 SXM"),
        ("NVIDIA-H100-80GB-HBM3-SHARED", "H100 SXM"),
        ("NVIDIA-H100-80GB-HBM3-MIG-3g.40gb", "H100 SXM"),
        ("nvidia h100 80gb hbm3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100, other form"),
        ("NVIDIA H100 NVL", "H100, other form"),
        ("NVIDIA H100", "H100, other form"),
        ("NVIDIA H200", "H200 SXM"),
        ("NVIDIA H200 NVL", "H200 NVL"),
        ("NVIDIA GH200 480GB", "GH200"),
        ("NVIDIA GH200 96GB HBM3", "GH200"),
        ("Tesla V100-SXM2-32GB", "V100 SXM"),
        ("Tesla-V100-SXM2-16GB-SHARED", "V100 SXM"),
        ("Tesla V100-PCIE-16GB", "V100 PCIe"),
        ("Tesla V100-FHHL-16GB", "V100, other form"),
        ("NVIDIA-A100-SXM4-80GB", "A100 SXM"),
        ("NVIDIA A100-SXM4-40GB", "A100 SXM"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "A100 SXM"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb.me-SHARED", "A100 SXM"),
        ("NVIDIA A100 80GB PCIe", "A100, other form"),
        ("NVIDIA A10G", "A10G"),
        ("NVIDIA-A10G-SHARED", "A10G"),
        ("Tesla T4", "T4"),
        ("Tesla-T4-SHARED", "T4"),
        ("NVIDIA T4", "T4"),
        ("T4", "T4"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40", "L40"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA-L40S-SHARED", "L40S"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA GB200", "GB200"),
        ("NVIDIA GB300", "GB300"),
    ];
    for (model, expected) in cases {
        assert_eq!(name(model), Some(expected), "{model}");
    }
}

#[test]
fn near_misses_and_unknown_names_match_nothing() {
    let cases = [
        "NVIDIA A10",
        "NVIDIA A1000",
        "NVIDIA A100X",
        "NVIDIA A30",
        "NVIDIA T400 4GB",
        "NVIDIA TITAN V",
        "NVIDIA H20",
        "NVIDIA H800",
        "NVIDIA B300 SXM6 AC",
        "Tesla V100S-PCIE-32GB",
        "NVIDIA RTX A6000",
        "NVIDIA RTX 5000 Ada Generation",
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "NVIDIA RTX",
        "NVIDIA GeForce RTX 4090",
        "NVIDIA A100-40C",
        "GRID T4-16Q",
        "Tesla",
        "NVIDIA",
        "MIG 1g.5gb",
        "SHARED",
        "",
        "   ",
        "H\u{fc}tte L4",
        "T4 a b d e f g h i j",
    ];
    for model in cases {
        assert_eq!(name(model), None, "{model}");
    }
}

#[test]
fn every_row_can_be_reached_and_is_in_order() {
    for product in all() {
        let form = product.forms.first().copied().unwrap_or_default();
        let model = format!("NVIDIA {} {form}", product.family.join(" "));
        assert_eq!(lookup(&model), Some(product), "{}", product.name);
    }
}

#[test]
fn temperatures_rise_from_operating_to_shutdown() {
    for product in all() {
        let core = [
            product.core_max_operating_celsius,
            product.core_slowdown_celsius,
            product.core_shutdown_celsius,
        ];
        let known: Vec<u16> = core.into_iter().flatten().map(|fact| fact.value).collect();
        assert!(known.is_sorted(), "{}", product.name);
        assert!(
            known.iter().all(|value| (80..=100).contains(value)),
            "{}",
            product.name
        );
        if let Some(limit) = product.memory_max_operating.celsius() {
            assert!((80..=110).contains(&limit), "{}", product.name);
        }
        if let Some(Fact { value: margin, .. }) = product.margin {
            assert!(margin.slowdown_celsius < 0, "{}", product.name);
            let shutdown = margin.shutdown_celsius.unwrap_or(i16::MIN);
            assert!(shutdown < margin.slowdown_celsius, "{}", product.name);
        }
        assert!(
            !product.name.is_empty() && !product.family.is_empty(),
            "{product:?}"
        );
    }
}

#[test]
fn limits_of_common_products() {
    let cases = [
        // model, slowdown, shutdown, memory, power
        (
            "Tesla V100-SXM2-32GB",
            Some(87),
            Some(90),
            Some(85),
            Some(300),
        ),
        (
            "Tesla V100-PCIE-32GB",
            Some(87),
            Some(90),
            Some(85),
            Some(250),
        ),
        ("Tesla T4", Some(93), Some(96), None, Some(70)),
        ("NVIDIA A10G", Some(95), Some(98), None, Some(300)),
        (
            "NVIDIA A100-SXM4-80GB",
            Some(89),
            Some(92),
            Some(95),
            Some(400),
        ),
        ("NVIDIA A100 80GB PCIe", None, None, None, None),
        (
            "NVIDIA H100 80GB HBM3",
            Some(89),
            Some(92),
            Some(95),
            Some(700),
        ),
        ("NVIDIA H200", Some(89), Some(95), Some(95), Some(700)),
        ("NVIDIA GH200 480GB", None, None, Some(95), Some(900)),
        ("NVIDIA L4", Some(88), Some(91), None, Some(72)),
        ("NVIDIA L40S", Some(89), Some(92), None, Some(350)),
        ("NVIDIA B200", Some(91), Some(93), None, Some(1000)),
        ("NVIDIA GB200", None, None, None, None),
    ];
    for (model, slowdown, shutdown, memory, power) in cases {
        let product = known(model);
        let value = |fact: Option<Fact<u16>>| fact.map(|fact| fact.value);
        assert_eq!(value(product.core_slowdown_celsius), slowdown, "{model}");
        assert_eq!(value(product.core_shutdown_celsius), shutdown, "{model}");
        assert_eq!(product.memory_max_operating.celsius(), memory, "{model}");
        assert_eq!(value(product.default_power_watts), power, "{model}");
    }
}

#[test]
fn a_missing_sensor_is_not_an_unknown_limit() {
    for model in ["Tesla T4", "NVIDIA L4", "NVIDIA L40S", "NVIDIA A10G"] {
        assert_eq!(
            known(model).memory_max_operating,
            MemoryLimit::NoSensor,
            "{model}"
        );
    }
    assert_eq!(
        known("NVIDIA B200").memory_max_operating,
        MemoryLimit::Unknown
    );
}

#[test]
fn inferred_values_say_so() {
    let slowdown = |model| known(model).core_slowdown_celsius.map(|fact| fact.basis);
    assert_eq!(slowdown("NVIDIA H100 80GB HBM3"), Some(Basis::Dump));
    assert_eq!(slowdown("NVIDIA B200"), Some(Basis::Calculated));
    assert_eq!(slowdown("NVIDIA L4"), Some(Basis::Estimated));
    for product in all() {
        assert!(
            product.pcie.is_none_or(|fact| fact.basis.is_inferred()),
            "{}",
            product.name
        );
    }
    for basis in [
        Basis::Dump,
        Documented,
        Basis::Sample,
        Calculated,
        Estimated,
        General,
    ] {
        assert!(!basis.source().is_empty());
    }
}

#[test]
fn replay_allowance_grows_with_the_link() {
    let at_x16 = |number| {
        PcieGeneration::from_number(number).map(|link| link.replay_allowance_per_minute(16))
    };
    let cases = [
        (0, None),
        (1, Some(3)),
        (2, Some(5)),
        (3, Some(8)),
        (4, Some(16)),
        (5, Some(31)),
        (6, Some(62)),
        (7, None),
    ];
    for (number, expected) in cases {
        assert_eq!(at_x16(number), expected, "generation {number}");
    }
    assert_eq!(Gen4.replay_allowance_per_minute(8), 8);
    assert_eq!(Gen3.replay_allowance_per_minute(1), 1);
    assert_eq!(
        PcieGeneration::Gen6.replay_allowance_per_minute(u8::MAX),
        980
    );

    let of = |model| {
        known(model)
            .replay_allowance_per_minute()
            .map(|fact| fact.value)
    };
    assert_eq!(of("Tesla T4"), Some(8));
    assert_eq!(of("NVIDIA A10G"), Some(16));
    assert_eq!(of("NVIDIA H100 80GB HBM3"), Some(31));
    assert_eq!(of("NVIDIA GB200"), None);
}
