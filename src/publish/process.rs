//! The process as Linux sees it: the seven standard `process_*` metrics, from /proc/self.

use std::fs;

/// Ticks a second in `/proc/self/stat`: `USER_HZ`, part of Linux' ABI on every platform we build for.
const TICKS_PER_SECOND: f64 = 100.0;

/// The process at one moment. `None` where the system does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Process {
    /// CPU time used, user and system, in seconds.
    pub cpu_seconds: Option<f64>,
    /// Open file descriptors.
    pub open_fds: Option<f64>,
    /// File descriptors that may be open.
    pub max_fds: Option<f64>,
    /// Address space in use, in bytes.
    pub virtual_bytes: Option<f64>,
    /// Address space that may be used, in bytes; without a limit the largest there is.
    pub virtual_max_bytes: Option<f64>,
    /// Memory in RAM, in bytes.
    pub resident_bytes: Option<f64>,
    /// When the process began, in seconds since 1970.
    pub start_seconds: Option<f64>,
}

impl Process {
    /// This process now.
    #[must_use]
    pub fn sample() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let open = fs::read_dir("/proc/self/fd").ok();
        Self {
            // The directory that is being read is open itself.
            open_fds: open.map(|entries| entries.count().saturating_sub(1) as f64),
            ..Self::parse(
                &read("/proc/self/stat"),
                &read("/proc/self/status"),
                &read("/proc/self/limits"),
                &read("/proc/stat"),
            )
        }
    }

    fn parse(stat: &str, status: &str, limits: &str, system: &str) -> Self {
        // The second field is the program's name, which may hold blanks and brackets.
        let fields: Vec<&str> = stat
            .rsplit_once(')')
            .map_or("", |(_, rest)| rest)
            .split_whitespace()
            .collect();
        // The field numbers of proc(5), of which the first two are cut off above.
        let ticks = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        let boot = number_after(system, "btime ");
        let kib = |name| number_after(status, name).map(|kib| kib * 1024.0);
        Self {
            cpu_seconds: ticks(14)
                .zip(ticks(15))
                .map(|(user, system)| (user + system) / TICKS_PER_SECOND),
            open_fds: None,
            max_fds: number_after(limits, "Max open files"),
            virtual_bytes: kib("VmSize:"),
            virtual_max_bytes: number_after(limits, "Max address space"),
            resident_bytes: kib("VmRSS:"),
            start_seconds: ticks(22)
                .zip(boot)
                .map(|(since_boot, boot)| boot + since_boot / TICKS_PER_SECOND),
        }
    }
}

/// The number that follows a line's name.
fn number_after(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX as f64),
        number => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_read_by_field() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 4 0 1000 9 9 9";
        let process = Process::parse(
            stat,
            "VmSize:\t  2048 kB\nVmRSS:\t  1024 kB\n",
            "Limit  Soft Limit  Hard Limit\nMax open files            1024   524288  files\n\
             Max address space         unlimited  unlimited  bytes\n",
            "cpu 1 2 3\nbtime 1764500000\n",
        );
        let expected = Process {
            cpu_seconds: Some(2.0),
            open_fds: None,
            max_fds: Some(1024.0),
            virtual_bytes: Some(2_097_152.0),
            virtual_max_bytes: Some(u64::MAX as f64),
            resident_bytes: Some(1_048_576.0),
            start_seconds: Some(1_764_500_010.0),
        };
        assert_eq!(process, expected);
    }

    #[test]
    fn files_that_are_missing_or_odd_give_nothing() {
        assert_eq!(Process::parse("", "", "", ""), Process::default());
        assert_eq!(
            Process::parse("x", "VmRSS: many", "Max open files", "btime"),
            Process::default()
        );
    }
}
