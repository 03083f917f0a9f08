//! Every family, in the order in which `/metrics` prints them.

use super::{Family, Section, Type};

/// Declares the families: `CONSTANT Type "name" [labels] "help" "when";`, by section.
macro_rules! families {
    ($( $section:ident { $( $name:ident $kind:ident $text:literal
        [$($label:literal),*] $help:literal $when:literal; )* } )*) => {
        $( $(
            #[doc = concat!("`", $text, "`: ", $help)]
            pub const $name: Family = Family {
                name: $text,
                kind: Type::$kind,
                labels: &[$($label),*],
                help: $help,
                section: Section::$section,
                condition: $when,
            };
        )* )*

        /// Every family.
        pub const ALL: &[Family] = &[$( $( $name, )* )*];
    };
}

families! {
    Findings {
        INCIDENT_ACTIVE Gauge "gpulens_incident_active"
            ["rule", "severity", "namespace", "workload", "pod", "container", "node", "uuid", "incident"]
            "1 while the incident is open, 0 for 15 minutes after it closed or left this severity. Labels that do not apply are empty."
            "an incident is open or closed lately";
        INCIDENT_INFO Gauge "gpulens_incident_info" ["incident", "rule", "cause", "evidence", "gpu"]
            "Always 1: what may change while an incident stays the same. For joins and alert templates, not for alert labels."
            "an incident is open";
        INCIDENT_START_TIMESTAMP_SECONDS Gauge "gpulens_incident_start_timestamp_seconds" ["incident", "rule"]
            "Time of an open incident's first evidence, which may be older than the first cycle that saw it."
            "an incident is open";
        INCIDENTS Gauge "gpulens_incidents" ["rule", "severity", "evidence"]
            "Open incidents; every combination is present, 0 included." "";
        RULE_UNDECIDED Gauge "gpulens_rule_undecided" ["rule", "reason"]
            "Subjects that a rule could not decide: not healthy, and not a finding." "";
        SIGNAL_GPUS Gauge "gpulens_signal_gpus" ["signal", "state"]
            "GPUs for which a signal that a rule needs is available, and for which it is missing." "";
        INCIDENTS_DROPPED Gauge "gpulens_incidents_dropped" ["rule"]
            "Open incidents without series of their own, beyond the series budget; the API has them." "";
        FLEET_GPUS Gauge "gpulens_fleet_gpus" ["state"]
            "GPUs by state: ok (live, health decided, nothing found), finding (above info), unknown (blind, or its health could not be decided)." "";
    }
    PerGpu {
        GPU_XID_ERRORS_TOTAL Counter "gpulens_gpu_xid_errors_total" ["node", "gpu", "uuid", "gpu_instance"]
            "XID errors since the GPU was first seen: at least this many, for repeats of one code cannot be seen. 0 also where none can be seen: gpulens_signal_gpus tells."
            "";
        GPU_LAST_XID_INFO Gauge "gpulens_gpu_last_xid_info" ["node", "gpu", "uuid", "gpu_instance", "xid"]
            "Always 1: the last XID of the GPU." "an XID was seen";
        GPU_THROTTLE_SECONDS_TOTAL Counter "gpulens_gpu_throttle_seconds_total" ["node", "gpu", "uuid", "reason"]
            "Time in which clocks were held down, since the GPU was first seen." "the GPU exports a signal that tells";
        GPU_LAST_READING_TIMESTAMP_SECONDS Gauge "gpulens_gpu_last_reading_timestamp_seconds" ["node", "gpu", "uuid"]
            "When a reading of the GPU was last known to be live; a frozen one is not." "";
        GPU_MEAN_UTILIZATION_RATIO Gauge "gpulens_gpu_mean_utilization_ratio"
            ["node", "gpu", "uuid", "gpu_instance", "namespace", "pod"]
            "Mean utilisation over the low-utilisation window." "enough of the window was seen";
        TARGET_UP Gauge "gpulens_target_up" ["node", "target"]
            "Whether the last attempt to read the target succeeded." "the target was tried";
    }
    Itself {
        INCIDENTS_OPENED_TOTAL Counter "gpulens_incidents_opened_total" ["rule"]
            "Incidents opened." "";
        INCIDENTS_CLOSED_TOTAL Counter "gpulens_incidents_closed_total" ["rule", "reason"]
            "Incidents closed: only resolved is a recovery." "";
        CYCLE_INTERVAL_SECONDS Gauge "gpulens_cycle_interval_seconds" []
            "Time from one cycle to the next, as configured." "the first cycle has run";
        LAST_CYCLE_TIMESTAMP_SECONDS Gauge "gpulens_last_cycle_timestamp_seconds" []
            "When the last cycle ran, on the wall clock." "the first cycle has run";
        CYCLE_DURATION_SECONDS Histogram "gpulens_cycle_duration_seconds" []
            "Time that a cycle took." "";
        CYCLES_TOTAL Counter "gpulens_cycles_total" ["result"]
            "Cycles by result: success, rule_failed (a rule failed, the others were judged), failed (nothing was published)." "";
        RULE_DURATION_SECONDS Gauge "gpulens_rule_duration_seconds" ["rule"]
            "Time that the rule took in the last cycle." "the first cycle has run";
        RULE_SUCCESS Gauge "gpulens_rule_success" ["rule"]
            "Whether the rule ran to its end in the last cycle; 0 is a fault of the rule." "the first cycle has run";
        RULE_EXCLUDED_SUBJECTS Gauge "gpulens_rule_excluded_subjects" ["rule"]
            "Subjects that the configuration excludes from the rule." "the first cycle has run";
        SOURCE_UP Gauge "gpulens_source_up" ["source"]
            "Whether any endpoint of the source answers; 0 also before the first attempt." "the first cycle has run";
        SOURCE_TARGETS Gauge "gpulens_source_targets" ["source", "state"]
            "Targets of the source by state." "the first cycle has run";
        SOURCE_LAST_SUCCESS_TIMESTAMP_SECONDS Gauge "gpulens_source_last_success_timestamp_seconds" ["source"]
            "When any endpoint of the source last answered." "it ever has";
        SOURCE_ERRORS_TOTAL Counter "gpulens_source_errors_total" ["source", "kind"]
            "Failed attempts." "the first cycle has run";
        SOURCE_DURATION_SECONDS Gauge "gpulens_source_duration_seconds" ["source"]
            "Time from the first request to the last answer of the source's last round." "the source was tried";
        SAMPLES_REJECTED_TOTAL Counter "gpulens_samples_rejected_total" ["reason"]
            "Lines and values that were not taken." "the first cycle has run";
        TRACKED_GPUS Gauge "gpulens_tracked_gpus" []
            "GPUs of which anything is kept." "the first cycle has run";
        TRACKED_PODS Gauge "gpulens_tracked_pods" []
            "Pods of which anything is kept." "the first cycle has run";
        OBSERVATIONS_TOO_LATE_TOTAL Counter "gpulens_observations_too_late_total" []
            "Observations that came too late to be filed under their time." "the first cycle has run";
    }
    Process {
        BUILD_INFO Gauge "gpulens_build_info" ["version", "revision", "rustc"]
            "Always 1: what this binary was built from." "";
        PROCESS_CPU_SECONDS_TOTAL Counter "process_cpu_seconds_total" []
            "Total user and system CPU time spent in seconds." "on Linux";
        PROCESS_OPEN_FDS Gauge "process_open_fds" []
            "Number of open file descriptors." "on Linux";
        PROCESS_MAX_FDS Gauge "process_max_fds" []
            "Maximum number of open file descriptors." "on Linux";
        PROCESS_VIRTUAL_MEMORY_BYTES Gauge "process_virtual_memory_bytes" []
            "Virtual memory size in bytes." "on Linux";
        PROCESS_VIRTUAL_MEMORY_MAX_BYTES Gauge "process_virtual_memory_max_bytes" []
            "Maximum amount of virtual memory available in bytes." "on Linux";
        PROCESS_RESIDENT_MEMORY_BYTES Gauge "process_resident_memory_bytes" []
            "Resident memory size in bytes." "on Linux";
        PROCESS_START_TIME_SECONDS Gauge "process_start_time_seconds" []
            "Start time of the process since unix epoch in seconds." "on Linux";
    }
}
