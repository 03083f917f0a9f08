use std::collections::BTreeSet;

use super::{Class, DevicePlugin, Generations, SOURCE, SOURCE_DATE, Severity, Xid, all, lookup};

fn known(code: u16) -> &'static Xid {
    lookup(code).unwrap_or_else(|| panic!("code {code} is not in the table"))
}

fn codes(keep: impl Fn(&Xid) -> bool) -> Vec<u16> {
    all()
        .iter()
        .filter(|xid| keep(xid))
        .map(|xid| xid.code)
        .collect()
}

fn texts(xid: &Xid) -> impl Iterator<Item = &'static str> {
    [Some(xid.meaning), Some(xid.action), xid.note, xid.disputed]
        .into_iter()
        .flatten()
}

#[test]
fn holds_every_code_from_1_to_173_once_and_in_order() {
    assert_eq!(codes(|_| true), (1..=173).collect::<Vec<_>>());
    for code in 1..=173 {
        assert_eq!(known(code).code, code);
    }
}

#[test]
fn a_code_outside_the_table_is_uncatalogued() {
    for code in [0, 174, 999, 10_001, u16::MAX] {
        assert_eq!(lookup(code), None, "code {code}");
    }
}

#[test]
fn the_device_plugin_ignores_six_codes_and_withholds_for_all_others() {
    assert_eq!(
        codes(|xid| xid.plugin == DevicePlugin::Ignores),
        [13, 31, 43, 45, 68, 109]
    );
    assert_eq!(
        codes(|xid| xid.plugin == DevicePlugin::Withholds).len(),
        173 - 6
    );
}

#[test]
fn stays_open_until_a_reset_where_a_reset_is_the_remedy() {
    let held = [
        46, 48, 62, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 143, 151, 155, 156, 158, 167,
        169, 171, 172, 173,
    ];
    assert_eq!(codes(|xid| xid.clears_on_reset), held);
    for xid in all() {
        let grave = matches!(xid.severity, Severity::Critical | Severity::High);
        // 54 asks for a cable, 94 for a new start of the job: a reset is not what mends them.
        assert_eq!(
            xid.clears_on_reset,
            grave && ![54, 94].contains(&xid.code),
            "{}",
            xid.code
        );
        if xid.clears_on_reset {
            let said = ["reset", "reboot", "restart the virtual machine"];
            assert!(
                said.iter().any(|word| xid.action.contains(word)),
                "{}",
                xid.code
            );
        }
    }
}

#[test]
fn texts_are_filled_short_and_claim_no_more_than_is_known() {
    for xid in all() {
        assert!(!xid.mnemonic.is_empty(), "{}", xid.code);
        for text in texts(xid) {
            let shown = format!("{}: {text:?}", xid.code);
            assert!(!text.is_empty() && text.trim() == text, "{shown}");
            assert!(text.len() <= 160 && text.is_ascii(), "{shown}");
            assert!(!text.ends_with('.') && !text.contains("  "), "{shown}");
            let lower = text.to_lowercase();
            for claim in ["caused by", "because of", "due to"] {
                assert!(!lower.contains(claim), "{shown}");
            }
        }
    }
    assert!(!SOURCE.is_empty() && !SOURCE.contains("  "));
    assert_eq!(SOURCE_DATE, "2026-11-30");
}

#[test]
fn meanings_are_told_apart() {
    let distinct: BTreeSet<_> = all().iter().map(|xid| xid.meaning).collect();
    assert_eq!(distinct.len(), all().len());
}

#[test]
fn disputes_name_at_least_two_sides() {
    for xid in all() {
        if let Some(disputed) = xid.disputed {
            assert!(
                disputed.matches(": ").count() >= 2,
                "{}: {disputed}",
                xid.code
            );
            assert!(disputed.starts_with("NVIDIA"), "{}: {disputed}", xid.code);
        }
    }
}

#[test]
fn class_and_severity_agree() {
    for xid in all() {
        let code = xid.code;
        let legacy = xid.class == Class::Legacy;
        assert_eq!(legacy, xid.severity == Severity::Legacy, "{code}");
        assert_eq!(legacy, !xid.is_current(), "{code}");
        assert_eq!(
            xid.is_consequence(),
            xid.severity == Severity::Consequence,
            "{code}"
        );
        assert!(
            xid.severity != Severity::Application || xid.is_application(),
            "{code}"
        );
        let roles = [
            xid.is_hardware(),
            xid.is_application(),
            xid.is_consequence(),
        ];
        assert!(roles.iter().filter(|role| **role).count() <= 1, "{code}");
        if legacy {
            assert!(xid.raised_on.is_empty() && !xid.is_hardware(), "{code}");
        }
        if matches!(xid.severity, Severity::Critical | Severity::High) {
            assert!(xid.is_hardware(), "{code}");
        }
    }
}

#[test]
fn generations_are_sets() {
    assert!(Generations::ALL.contains(Generations::GB200));
    assert!(Generations::SINCE_H100.contains(Generations::BLACKWELL));
    assert!(!Generations::SINCE_H100.contains(Generations::A100));
    assert!(!Generations::B100.contains(Generations::BLACKWELL));
    assert!(Generations::NONE.is_empty() && !Generations::A100.is_empty());
    assert_eq!(
        codes(|xid| xid.is_current() && xid.raised_on.is_empty()),
        [61, 123, 152, 153, 173]
    );
}

#[test]
fn spot_checks() {
    use Class as C;
    use Severity as S;
    let cases: &[(u16, C, S, bool)] = &[
        // code, class, severity, whether the table quotes a disagreement
        (13, C::Application, S::Application, false),
        (31, C::Application, S::Application, true),
        (43, C::Consequence, S::Consequence, true),
        (45, C::Consequence, S::Consequence, true),
        (48, C::Memory, S::Critical, false),
        (54, C::Power, S::High, true),
        (62, C::HardwareOrDriver, S::Critical, true),
        (63, C::Memory, S::Warning, true),
        (64, C::Memory, S::Critical, false),
        (69, C::Application, S::Application, true),
        (74, C::NvLink, S::Critical, false),
        (79, C::Hardware, S::Critical, false),
        (92, C::Memory, S::Warning, true),
        (94, C::Memory, S::High, true),
        (95, C::Memory, S::Critical, false),
        (109, C::HardwareOrDriver, S::High, true),
        (119, C::DriverOrHardware, S::Critical, false),
        (121, C::NvLink, S::Info, true),
        (123, C::HardwareOrDriver, S::Warning, true),
        (144, C::NvLink, S::Warning, true),
        (145, C::NvLink, S::Warning, true),
        (146, C::NvLink, S::Warning, true),
        (147, C::NvLink, S::Warning, true),
        (148, C::NvLink, S::Warning, true),
        (149, C::NvLink, S::Warning, true),
        (150, C::NvLink, S::Warning, true),
        (154, C::Summary, S::Info, false),
        (171, C::Memory, S::Critical, true),
        (172, C::Memory, S::Critical, true),
    ];
    for &(code, class, severity, disputed) in cases {
        let xid = known(code);
        assert_eq!((xid.class, xid.severity), (class, severity), "{code}");
        assert_eq!(xid.disputed.is_some(), disputed, "{code}");
    }
}

#[test]
fn roles_of_the_codes_that_rules_lean_on() {
    for code in [
        48, 63, 64, 74, 79, 92, 94, 95, 109, 119, 120, 140, 145, 171, 172,
    ] {
        assert!(known(code).is_hardware(), "{code}");
    }
    for code in [8, 13, 31, 39, 68, 69, 137, 142] {
        assert!(
            known(code).is_application() && !known(code).is_hardware(),
            "{code}"
        );
    }
    assert_eq!(codes(Xid::is_consequence), [43, 45]);
    // A corrected link error, a summary, and codes that may lie on either side of the bus.
    for code in [121, 154, 32, 80, 159, 56, 162] {
        assert!(
            !known(code).is_hardware() && !known(code).is_application(),
            "{code}"
        );
    }
}

#[test]
fn blackwell_raises_other_link_codes_than_its_elders() {
    assert_eq!(
        known(74).raised_on,
        Generations::A100.and(Generations::H100)
    );
    for code in 144..=150 {
        assert_eq!(known(code).raised_on, Generations::BLACKWELL, "{code}");
    }
    assert_eq!(known(121).raised_on, Generations::GB200);
}

#[test]
fn codes_that_say_too_little_alone_are_marked() {
    let marked: Vec<u16> = std::iter::once(109).chain(144..=150).collect();
    assert_eq!(codes(|xid| xid.needs_corroboration), marked);
}

#[test]
fn traps_are_written_down() {
    let says = |code: u16, words: &str| {
        assert!(
            texts(known(code)).any(|text| text.contains(words)),
            "{code}: {words}"
        );
    };
    says(48, "172 in SRAM");
    says(63, "when convenient");
    says(69, "out of allocatable");
    says(79, "vanish");
    says(94, "restart the job");
    says(109, "device plugin");
    says(119, "driver releases");
    says(123, "GKE");
    says(147, "kernel log");
    says(154, "1523");
}

#[test]
fn names_for_labels_are_plain_and_distinct() {
    let classes: BTreeSet<_> = all().iter().map(|xid| xid.class.as_str()).collect();
    assert_eq!(classes.len(), 14);
    let severities: BTreeSet<_> = all().iter().map(|xid| xid.severity.as_str()).collect();
    assert_eq!(severities.len(), 7);
    for name in classes.union(&severities) {
        assert!(
            name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
            "{name}"
        );
    }
}
