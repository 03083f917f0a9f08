//! When the absence of the XID family is told, and when it only was not seen.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::*;
use crate::history::History;
use crate::snapshot::{Batch, Limits, Observation, Signal, Track};

const TEMP: &str = "DCGM_FI_DEV_GPU_TEMP{A} 41\n";
const XID: &str = "DCGM_FI_DEV_XID_ERRORS{A} 79\n";

fn text(body: &str) -> String {
    body.replace("{A", &format!("{{UUID=\"{A}\""))
        .replace("{B", &format!("{{UUID=\"{B}\""))
}

/// Reads one body every 15 s and tells of the XID edges of board A whether they are dated.
fn dated(bodies: &[(&str, bool)]) -> Vec<bool> {
    let mut history = History::new(BTreeMap::new(), Limits::default());
    let (mut decoder, mut last) = (decoder(), at());
    let mut view = super::super::view::View::new(at());
    for (number, (body, complete)) in bodies.iter().enumerate() {
        last = at() + SignedDuration::from_secs(15 * number as i64);
        let text = text(body);
        let body = Body {
            bytes: text.as_bytes(),
            content_type: None,
            complete: *complete,
            at: last,
        };
        let observations = decoder.decode(body, &origin()).observations;
        history.absorb(&Batch {
            observations: observations.into_iter().map(Observation::Gpu).collect(),
            ..view.take()
        });
    }
    let snapshot = history.view(&"c".into(), last, SignedDuration::from_secs(15), &[]);
    let track = snapshot.gpus[0].board.track(Signal::Xid);
    let edges = track.map_or(&[][..], Track::edges);
    edges.iter().map(crate::snapshot::Edge::is_dated).collect()
}

#[test]
fn what_was_not_read_gives_a_sticky_code_no_date() {
    let whole = format!("{TEMP}{XID}");
    let unreadable =
        format!("{TEMP}DCGM_FI_DEV_XID_ERRORS{{A}} ERROR - FAILED TO CONVERT TO STRING\n");
    let lower = format!("{TEMP}dcgm_xid_errors{{A}} nothing\n");
    let sentinel = format!("{TEMP}DCGM_FI_DEV_XID_ERRORS{{A}} 9223372036854775794\n");
    let beyond = format!("{TEMP}DCGM_FI_DEV_XID_ERRORS{{A}} 70000\n");
    let nobody = format!("{TEMP}DCGM_FI_DEV_XID_ERRORS{{gpu=\"0\"}} 79\n");
    let own_times = "DCGM_FI_DEV_GPU_TEMP{A} 41 1772366390000\n\
                     DCGM_FI_DEV_XID_ERRORS{A} 79 1772366395000\n";
    let first_times = "DCGM_FI_DEV_XID_ERRORS{A} 79 1772366390000\n\
                       DCGM_FI_DEV_GPU_TEMP{A} 41 1772366395000\n";
    for bodies in [
        &[(TEMP, false), (&whole, true)][..],
        &[(&unreadable, true), (&whole, true)],
        &[(&lower, true), (&whole, true)],
        &[(&sentinel, true), (&whole, true)],
        &[(&beyond, true), (&whole, true)],
        &[(&nobody, true), (&whole, true)],
        &[(own_times, true)],
        &[(first_times, true)],
    ] {
        assert_eq!(dated(bodies), [false], "{bodies:?}");
    }
}

#[test]
fn a_family_that_was_absent_from_whole_bodies_dates_the_first_code() {
    let whole = format!("{TEMP}{XID}");
    // Lines of others that cannot be read, and others' XIDs, say nothing of this board's.
    let odd = format!("{TEMP}DCGM_FI_DEV_XID_ERRORS{{B}} 0\nDCGM_FI_DEV_SM_CLOCK{{A}} ERROR\n");
    let comment = format!("# HELP DCGM_FI_DEV_XID_ERRORS last XID\n{TEMP}x y z\n");
    let counts = format!("{TEMP}DCGM_EXP_XID_ERRORS_COUNT{{A}} 0\nodd\n");
    for before in [TEMP, &odd, &comment, &counts] {
        assert_eq!(dated(&[(before, true), (&whole, true)]), [true], "{before}");
    }
}
