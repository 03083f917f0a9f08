//! Bodies as exporters of several generations write them, of healthy boards whose energy grows
//! with the beat, which is the number of the request.

/// What a board says of itself; the rest is its generation's.
#[derive(Clone, Copy)]
pub(crate) struct Board {
    pub(crate) uuid: &'static str,
    /// `None`: the exporter leaves the family out.
    pub(crate) xid: Option<u16>,
    /// In °C; `None` likewise.
    pub(crate) heat: Option<u16>,
    /// Whether a row could not be remapped; `None` likewise.
    pub(crate) unmapped: Option<bool>,
}

impl Board {
    pub(crate) const fn healthy(uuid: &'static str) -> Self {
        Self {
            uuid,
            xid: Some(0),
            heat: Some(41),
            unmapped: Some(false),
        }
    }

    /// The families of every generation before 4.9, by the part of the name behind the prefix.
    fn legacy(self, beat: u64) -> Vec<(&'static str, String)> {
        let mut families = vec![
            ("SM_CLOCK", "1980".to_owned()),
            ("POWER_USAGE", format!("{}.312000", 210 + beat % 3)),
            (
                "TOTAL_ENERGY_CONSUMPTION",
                (4_335_301_032 + 210_000 * beat).to_string(),
            ),
            ("GPU_UTIL", "44".to_owned()),
            ("FB_FREE", "70000".to_owned()),
            ("FB_USED", "10000".to_owned()),
            ("PCIE_REPLAY_COUNTER", "3".to_owned()),
        ];
        let unmapped = self.unmapped.map(u8::from);
        families.extend(unmapped.map(|failed| ("ROW_REMAP_FAILURE", failed.to_string())));
        families.extend(self.heat.map(|heat| ("GPU_TEMP", heat.to_string())));
        families.extend(self.xid.map(|xid| ("XID_ERRORS", xid.to_string())));
        families
    }
}

/// How an exporter writes a board.
pub(crate) type Generation = fn(Board, u64) -> String;

fn line(name: &str, labels: &str, value: &str) -> String {
    format!("{name}{{{labels}}} {value}\n")
}

fn headed(name: &str, labels: &[&str], value: &str) -> String {
    let lines: String = labels.iter().map(|set| line(name, set, value)).collect();
    format!("# HELP {name} It is 41 °C.\n# TYPE {name} gauge\n{lines}")
}

/// 1.x: names and labels in lower case, no device.
pub(crate) fn first(board: Board, beat: u64) -> String {
    let labels = format!("gpu=\"0\",uuid=\"{}\"", board.uuid);
    let names = |name: &str| match name {
        "GPU_UTIL" => "dcgm_gpu_utilization".to_owned(),
        "TOTAL_ENERGY_CONSUMPTION" => "dcgm_total_energy_consumption".to_owned(),
        other => format!("dcgm_{}", other.to_lowercase()),
    };
    let families = board.legacy(beat).into_iter();
    families
        .map(|(name, value)| headed(&names(name), &[&labels], &value))
        .collect()
}

/// 2.x outside of Kubernetes: no HELP, no model, no labels of pods.
pub(crate) fn second(board: Board, beat: u64) -> String {
    let labels = format!("gpu=\"0\",UUID=\"{}\",device=\"nvidia0\"", board.uuid);
    let families = board.legacy(beat).into_iter();
    families
        .map(|(name, value)| line(&format!("DCGM_FI_DEV_{name}"), &labels, &value))
        .collect()
}

fn modern(uuid: &str, more: &str) -> String {
    format!(
        "gpu=\"0\",UUID=\"{uuid}\",pci_bus_id=\"00000000:07:00.0\",device=\"nvidia0\",\
         modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"nvidia-dcgm-exporter-x7k2p\"{more}"
    )
}

fn third_with(board: Board, beat: u64, labels: &[String]) -> String {
    let labels: Vec<_> = labels.iter().map(String::as_str).collect();
    let families = board.legacy(beat).into_iter();
    families
        .map(|(name, value)| headed(&format!("DCGM_FI_DEV_{name}"), &labels, &value))
        .collect()
}

/// 3.x with its default counters; the host name is the exporter's pod.
pub(crate) fn third(board: Board, beat: u64) -> String {
    let pod =
        ",DCGM_FI_DRIVER_VERSION=\"550.90.07\",container=\"c\",namespace=\"ml\",pod=\"train-0\"";
    third_with(board, beat, &[modern(board.uuid, pod)])
}

/// A board that several pods share: each series once a pod, with the board's value.
pub(crate) fn shared(board: Board, beat: u64) -> String {
    let sets = [0, 1, 2].map(|n| {
        let pod = format!(",vgpu=\"{n}\",container=\"c\",namespace=\"ml\",pod=\"serve-{n}\"");
        modern(board.uuid, &pod)
    });
    third_with(board, beat, &sets)
}

/// One claim of dynamic resource allocation, held by two pods.
pub(crate) fn dra(board: Board, beat: u64) -> String {
    let sets = ["pod1", "pod2"].map(|pod| {
        let claim = ",dra_claim_name=\"single-gpu\",dra_claim_namespace=\"gpu-test3\",\
                     dra_device_name=\"gpu-0\",dra_driver_name=\"gpu.nvidia.com\"";
        let pod = format!("{claim},container=\"ctr\",namespace=\"gpu-test3\",pod=\"{pod}\"");
        modern(board.uuid, &pod)
    });
    third_with(board, beat, &sets)
}

/// Two instances that repeat the board's values, one of them free.
pub(crate) fn mig(board: Board, beat: u64) -> String {
    let sets = [(7, ",namespace=\"ml\",pod=\"predictor-a\""), (8, "")].map(|(id, pod)| {
        let instance = format!(",GPU_I_PROFILE=\"1g.10gb\",GPU_I_ID=\"{id}\"{pod}");
        modern(board.uuid, &instance)
    });
    third_with(board, beat, &sets)
}

/// 4.8.3: escaped label values, scientific notation, `hostname`.
pub(crate) fn escaped(board: Board, beat: u64) -> String {
    let labels = format!(
        r#"gpu="0",UUID="{}",pci_bus_id="00000000:07:00.0",device="nvidia0",modelName="Model \"Quoted\"",hostname="host\\name",namespace="ns",pod="pod \"quoted\"\nnext""#,
        board.uuid
    );
    let scientific = |value: &str| {
        let number: f64 = value.parse().expect("a number");
        format!("{number:e}").replace('e', "e+0")
    };
    let families = board.legacy(beat).into_iter();
    families
        .map(|(name, value)| {
            let name = format!("DCGM_FI_DEV_{name}");
            headed(&name, &[&labels], &scientific(&value))
        })
        .collect()
}

/// 4.9: other names, base units.
pub(crate) fn base_units(board: Board, beat: u64) -> String {
    let labels = format!(
        "gpu=\"0\",UUID=\"{}\",device=\"nvidia0\",modelName=\"NVIDIA H100 80GB HBM3\",\
         hostname=\"n5\",DCGM_FI_SYSTEM_DRIVER_VERSION=\"590.48.01\"",
        board.uuid
    );
    let joules = format!("{}", 4.335e6 + 210.0 * beat as f64);
    let mut families = vec![
        ("DCGM_FI_DEV_SM_CLOCK_HERTZ", "1.98e+09".to_owned()),
        (
            "DCGM_FI_DEV_BOARD_POWER_WATTS",
            (210 + beat % 3).to_string(),
        ),
        ("DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL", joules),
        ("DCGM_FI_DEV_GPU_UTIL_RATIO", "0.83".to_owned()),
        ("DCGM_FI_DEV_FB_USED_BYTES", "1.0e+10".to_owned()),
        ("DCGM_FI_DEV_FB_FREE_BYTES", "7.0e+10".to_owned()),
        ("DCGM_FI_DEV_ROW_REMAP_FAILED", "0".to_owned()),
    ];
    let heat = board.heat.map(|heat| heat.to_string());
    families.extend(heat.map(|heat| ("DCGM_FI_DEV_GPU_TEMP_CELSIUS", heat)));
    let xid = board.xid.map(|xid| xid.to_string());
    families.extend(xid.map(|xid| ("DCGM_FI_DEV_XID_ERROR", xid)));
    let families = families.into_iter();
    families
        .map(|(name, value)| headed(name, &[&labels], &value))
        .collect()
}

/// A gibibyte of line ends in about a mebibyte: one block, which refers to nothing before it,
/// again and again.
pub(crate) fn bomb() -> Vec<u8> {
    let mut block = Vec::with_capacity(1 << 16);
    let mut deflate = flate2::Compress::new(flate2::Compression::best(), false);
    let lines = vec![b'\n'; 1 << 20];
    let flush = flate2::FlushCompress::Full;
    deflate
        .compress_vec(&lines, &mut block, flush)
        .expect("memory");
    assert_eq!(deflate.total_in(), 1 << 20);
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    [&head[..], &block.repeat(1024)].concat()
}
