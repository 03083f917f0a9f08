//! Readings, step by step, become series.

use std::collections::BTreeMap;

use crate::snapshot::{SeriesKey, SeriesValues, gpu_series_name};

/// The series of one subject while they are being written.
#[derive(Default)]
pub(super) struct Columns {
    slots: u32,
    columns: BTreeMap<SeriesKey, Vec<Option<f64>>>,
}

/// Series between the first and the last slot that has a value.
pub(super) struct Trimmed {
    /// The first slot with a value.
    pub(super) first: u32,
    /// How many slots there are from it on.
    pub(super) slots: u32,
    /// The series by name.
    pub(super) values: BTreeMap<String, SeriesValues>,
}

impl Columns {
    /// Adds a slot; `None` where nothing was seen.
    pub(super) fn push(&mut self, readings: Option<&[(SeriesKey, f64)]>) {
        for (key, value) in readings.unwrap_or_default() {
            let column = self.columns.entry(*key).or_default();
            column.resize(self.slots as usize, None);
            column.push(Some(*value));
        }
        self.slots += 1;
    }

    /// The series without the empty slots at both ends; `None` where all are empty.
    pub(super) fn trim(self) -> Option<Trimmed> {
        let columns = self.columns.values();
        let first = columns
            .clone()
            .filter_map(|column| column.iter().position(Option::is_some))
            .min()?;
        let end = columns.map(Vec::len).max()?;
        let values = self.columns.into_iter().map(|(key, mut column)| {
            column.resize(end, None);
            column.drain(..first);
            (gpu_series_name(key), values(column))
        });
        Some(Trimmed {
            first: first as u32,
            slots: (end - first) as u32,
            values: values.collect(),
        })
    }
}

/// One number where all slots have the same.
pub(super) fn values(column: Vec<Option<f64>>) -> SeriesValues {
    match column.first() {
        Some(Some(value)) if column.iter().all(|other| *other == Some(*value)) => {
            SeriesValues::Constant(*value)
        }
        _ => SeriesValues::Column(column),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Signal;

    #[test]
    fn ends_are_trimmed_gaps_kept_and_constants_folded() {
        let (heat, xid) = (Signal::CoreTemperature.into(), Signal::Xid.into());
        let mut columns = Columns::default();
        for slot in [
            None,
            Some(vec![(heat, 40.0), (xid, 0.0)]),
            None,
            Some(vec![(heat, 41.0)]),
            None,
        ] {
            columns.push(slot.as_deref());
        }
        let trimmed = columns.trim().expect("not empty");
        assert_eq!((trimmed.first, trimmed.slots), (1, 3));
        assert_eq!(
            trimmed.values["core_temperature_celsius"],
            SeriesValues::Column(vec![Some(40.0), None, Some(41.0)])
        );
        assert_eq!(
            trimmed.values["xid"],
            SeriesValues::Column(vec![Some(0.0), None, None])
        );
        assert_eq!(values(vec![Some(1.0); 3]), SeriesValues::Constant(1.0));
        assert!(Columns::default().trim().is_none());
    }
}
