//! How fast exposition bodies are scanned, beside a floor and a naive parser, in one run:
//! `cargo bench --bench scan`.
//!
//! 1,000 bodies as 1,000 exporters of eight GPUs each would send them (the default metrics, pod labels
//! on half of the GPUs, HELP and TYPE lines). One thread; medians of several rounds. Throughput
//! counts every byte of the bodies, comments included.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use gpulens::source::exposition::{Format, Labels, Limits, Sample, Scanner, Visitor};

const BODIES: usize = 1_000;
const GPUS: usize = 8;
const ROUNDS: usize = 11;

/// Name, HELP text, and how a value is written: whole numbers, or as by `%f`.
const FAMILIES: [(&str, &str, Written); 25] = [
    (
        "DCGM_FI_DEV_SM_CLOCK",
        "SM clock frequency (in MHz).",
        Written::Whole(1980),
    ),
    (
        "DCGM_FI_DEV_MEM_CLOCK",
        "Memory clock frequency (in MHz).",
        Written::Whole(2619),
    ),
    (
        "DCGM_FI_DEV_MEMORY_TEMP",
        "Memory temperature (in C).",
        Written::Whole(90),
    ),
    (
        "DCGM_FI_DEV_GPU_TEMP",
        "GPU temperature (in C).",
        Written::Whole(85),
    ),
    (
        "DCGM_FI_DEV_POWER_USAGE",
        "Power draw (in W).",
        Written::Decimals(700),
    ),
    (
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        "Total energy consumption since boot (in mJ).",
        Written::Whole(900_000_000_000),
    ),
    (
        "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
        "Total number of PCIe retries.",
        Written::Whole(3),
    ),
    (
        "DCGM_FI_DEV_GPU_UTIL",
        "GPU utilization (in %).",
        Written::Whole(101),
    ),
    (
        "DCGM_FI_DEV_MEM_COPY_UTIL",
        "Memory utilization (in %).",
        Written::Whole(101),
    ),
    (
        "DCGM_FI_DEV_ENC_UTIL",
        "Encoder utilization (in %).",
        Written::Whole(2),
    ),
    (
        "DCGM_FI_DEV_DEC_UTIL",
        "Decoder utilization (in %).",
        Written::Whole(2),
    ),
    (
        "DCGM_FI_DEV_XID_ERRORS",
        "Value of the last XID error encountered.",
        Written::Whole(1),
    ),
    (
        "DCGM_FI_DEV_FB_FREE",
        "Framebuffer memory free (in MiB).",
        Written::Whole(81_559),
    ),
    (
        "DCGM_FI_DEV_FB_USED",
        "Framebuffer memory used (in MiB).",
        Written::Whole(81_559),
    ),
    (
        "DCGM_FI_DEV_FB_RESERVED",
        "Framebuffer memory reserved (in MiB).",
        Written::Whole(800),
    ),
    (
        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
        "Number of remapped rows for uncorrectable errors",
        Written::Whole(2),
    ),
    (
        "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
        "Number of remapped rows for correctable errors",
        Written::Whole(2),
    ),
    (
        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
        "Whether remapping of rows has failed",
        Written::Whole(1),
    ),
    (
        "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
        "Total number of NVLink bandwidth counters for all lanes.",
        Written::Whole(400_000),
    ),
    (
        "DCGM_FI_DEV_VGPU_LICENSE_STATUS",
        "vGPU License status",
        Written::Whole(1),
    ),
    (
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
        "Ratio of time the graphics engine is active.",
        Written::Decimals(1),
    ),
    (
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
        "Ratio of cycles the tensor (HMMA) pipe is active.",
        Written::Decimals(1),
    ),
    (
        "DCGM_FI_PROF_DRAM_ACTIVE",
        "Ratio of cycles the device memory interface is active.",
        Written::Decimals(1),
    ),
    (
        "DCGM_FI_PROF_PCIE_TX_BYTES",
        "The rate of data transmitted over the PCIe bus (in bytes per second).",
        Written::Whole(30_000_000_000),
    ),
    (
        "DCGM_FI_PROF_PCIE_RX_BYTES",
        "The rate of data received over the PCIe bus (in bytes per second).",
        Written::Whole(30_000_000_000),
    ),
];

#[derive(Clone, Copy)]
enum Written {
    Whole(u64),
    Decimals(u64),
}

/// A small generator of the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }

    fn value(&mut self, written: Written, into: &mut String) {
        let _ = match written {
            Written::Whole(bound) => write!(
                into,
                "{}",
                self.below(bound.min(1 << 30)) * bound.div_ceil(1 << 30)
            ),
            Written::Decimals(bound) => {
                write!(into, "{}.{:06}", self.below(bound), self.below(1_000_000))
            }
        };
    }
}

fn body(node: usize, numbers: &mut Numbers) -> Vec<u8> {
    let blocks: Vec<String> = (0..GPUS)
        .map(|gpu| {
            let uuid = format!("GPU-{node:08x}-{:04x}-4e5f-8a1b-{:012x}", numbers.below(65_536), node * GPUS + gpu);
            let pod = if gpu % 2 == 0 {
                let hash = numbers.below(1 << 20);
                format!(r#",container="trainer",namespace="research-{:02}",pod="llm-pretrain-{node:04}-{hash:05x}-worker-{gpu}""#, node % 40)
            } else {
                r#",container="",namespace="",pod="""#.to_owned()
            };
            format!(
                r#"{{gpu="{gpu}",UUID="{uuid}",pci_bus_id="00000000:{:02X}:00.0",device="nvidia{gpu}",modelName="NVIDIA H100 80GB HBM3",Hostname="gpu-node-{node:04}.cluster.internal",DCGM_FI_DRIVER_VERSION="550.90.07"{pod}}}"#,
                16 * gpu + 7
            )
        })
        .collect();
    let mut text = String::new();
    for (name, help, written) in FAMILIES {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
        for block in &blocks {
            text.push_str(name);
            text.push_str(block);
            text.push(' ');
            numbers.value(written, &mut text);
            text.push('\n');
        }
    }
    text.into_bytes()
}

/// Counts what it is told, and looks at every sample.
#[derive(Default)]
struct Tally {
    families: u32,
    series: u32,
    labels: usize,
    samples: u64,
    sum: f64,
}

impl Visitor for Tally {
    type Family = u32;
    type Series = u32;

    fn family(&mut self, _name: &str) -> u32 {
        self.families += 1;
        self.families
    }

    fn series(&mut self, labels: &Labels<'_>) -> u32 {
        self.series += 1;
        self.labels += labels.len();
        self.series
    }

    fn sample(&mut self, sample: Sample<u32, u32>) {
        self.samples += 1;
        self.sum += sample.value + f64::from(sample.family ^ sample.series);
    }

    fn forget(&mut self) {}
}

fn scan(with: &mut Scanner<u32, u32>, body: &[u8]) -> u64 {
    let mut tally = Tally::default();
    let scanned = with.scan(body, Format::Classic, true, &mut tally);
    black_box(tally.sum + tally.labels as f64);
    scanned.samples
}

/// The least that must be done: finding the lines.
fn line_floor(body: &[u8]) -> u64 {
    let mut lines = 0;
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', body) {
        lines += u64::from(body[start] != b'#');
        start = end + 1;
    }
    lines
}

struct NaiveSample {
    name: String,
    labels: HashMap<String, String>,
    value: f64,
}

/// What one writes first: split at every sign, own every string. It checks next to nothing and would
/// break on a comma, brace or quote in a value.
fn naive(body: &[u8]) -> Vec<NaiveSample> {
    let text = String::from_utf8_lossy(body);
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let samples = samples.filter_map(|line| {
        let (series, value) = line.rsplit_once(' ')?;
        let (name, labels) = series.split_once('{')?;
        let labels = labels.trim_end_matches('}').split(',').filter_map(|label| {
            let (name, value) = label.split_once('=')?;
            Some((name.to_string(), value.trim_matches('"').to_string()))
        });
        Some(NaiveSample {
            name: name.to_string(),
            labels: labels.collect(),
            value: value.parse().ok()?,
        })
    });
    samples.collect()
}

fn naive_count(body: &[u8]) -> u64 {
    let samples = naive(body);
    let seen: f64 = samples
        .iter()
        .map(|sample| sample.value + (sample.name.len() + sample.labels.len()) as f64)
        .sum();
    black_box(seen);
    samples.len() as u64
}

/// Reads one body, of the exporter with that index, and counts its samples.
type Pass<'a> = dyn FnMut(usize, &[u8]) -> u64 + 'a;

/// One row of the table.
struct Row<'a> {
    what: &'static str,
    pass: Box<Pass<'a>>,
    times: Vec<Duration>,
}

impl<'a> Row<'a> {
    fn new(what: &'static str, pass: impl FnMut(usize, &[u8]) -> u64 + 'a) -> Self {
        Self {
            what,
            pass: Box::new(pass),
            times: Vec::new(),
        }
    }

    /// One pass over all bodies, which must find every sample.
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
    fn round(&mut self, bodies: &[Vec<u8>], samples: u64) {
        let start = Instant::now();
        let mut found = 0;
        for (index, body) in bodies.iter().enumerate() {
            found += (self.pass)(index, body);
        }
        self.times.push(start.elapsed());
        assert_eq!(black_box(found), samples, "{} lost samples", self.what);
    }

    fn median_seconds(&mut self) -> f64 {
        self.times.sort();
        self.times[self.times.len() / 2].as_secs_f64()
    }
}

fn main() {
    let mut numbers = Numbers(1);
    let bodies: Vec<Vec<u8>> = (0..BODIES).map(|node| body(node, &mut numbers)).collect();
    let bytes = bodies.iter().map(Vec::len).sum::<usize>() as f64;
    let samples = (BODIES * GPUS * FAMILIES.len()) as u64;

    let no_memo = Limits {
        label_blocks: 0,
        families: 0,
        ..Limits::default()
    };
    let mut cold = Scanner::new(no_memo);
    let mut warm: Vec<_> = (0..BODIES)
        .map(|_| Scanner::new(Limits::default()))
        .collect();
    for (scanner, body) in warm.iter_mut().zip(&bodies) {
        scan(scanner, body);
    }
    let mut rows = [
        Row::new("finding the lines (memchr), the floor", |_, body| {
            line_floor(body)
        }),
        Row::new("naive: split, String, HashMap", |_, body| naive_count(body)),
        Row::new("cold: every line fully checked, no memo", |_, body| {
            scan(&mut cold, body)
        }),
        Row::new("first scrape: a new scanner for each body", |_, body| {
            scan(&mut Scanner::new(Limits::default()), body)
        }),
        Row::new("warm: the scanner of the scrape before", |index, body| {
            scan(&mut warm[index], body)
        }),
    ];
    // Round by round, so that a busy moment of the machine falls on all rows alike.
    for _ in 0..ROUNDS {
        for row in &mut rows {
            row.round(&bodies, samples);
        }
    }

    println!(
        "{:.1} MB in {BODIES} bodies, {samples} samples, {:.0} bytes a sample; \
         median of {ROUNDS} rounds, one thread\n",
        bytes / 1e6,
        bytes / samples as f64
    );
    println!("{:<44} MB/s  ns/sample  x naive  of floor  best MB/s", "");
    let floor = rows[0].median_seconds();
    let naive = rows[1].median_seconds();
    for row in &mut rows {
        let seconds = row.median_seconds();
        println!(
            "{:<42} {:>6.0} {:>10.1} {:>8.1} {:>8.0}% {:>10.0}",
            row.what,
            bytes / 1e6 / seconds,
            seconds * 1e9 / samples as f64,
            naive / seconds,
            100.0 * floor / seconds,
            bytes / 1e6 / row.times[0].as_secs_f64()
        );
    }
}
