//! Tables as CSV.

use std::io::Write;

use super::{Kind, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::export::csv_text;
use crate::report::cell::Cell;

impl Table {
    /// Writes the table as CSV, with every digit, intervals in two columns, and missing values empty. A text that
    /// begins like a formula, which spreadsheets would evaluate, gets an apostrophe in front.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if `out` cannot be written.
    pub fn write_csv(&self, out: impl Write) -> Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        let mut header = Vec::new();
        for column in &self.columns {
            if column.kind == Kind::Interval {
                header.extend([format!("{}_low", column.key), format!("{}_high", column.key)]);
            } else {
                header.push(column.key.clone());
            }
        }
        writer.write_record(&header).map_err(|error| not_written(&error))?;
        for row in &self.rows {
            let mut record = Vec::new();
            for (cell, column) in row.iter().zip(&self.columns) {
                let interval = column.kind == Kind::Interval;
                match cell {
                    Cell::Text(text) => record.push(csv_text(text)),
                    Cell::Count(count) => record.push(count.to_string()),
                    Cell::Real(value, _)
                    | Cell::Signed(value, _)
                    | Cell::Share(value)
                    | Cell::Points(value)
                    | Cell::P(value) => {
                        record.push(value.to_string());
                    }
                    Cell::Interval(i, _)
                    | Cell::SignedInterval(i, _)
                    | Cell::PointsInterval(i)
                    | Cell::ShareInterval(i) => {
                        record.extend([i.low.to_string(), i.high.to_string()]);
                    }
                    Cell::Missing if interval => record.extend([String::new(), String::new()]),
                    Cell::Missing => record.push(String::new()),
                }
            }
            writer.write_record(&record).map_err(|error| not_written(&error))?;
        }
        writer.flush()?;
        Ok(())
    }

    /// Returns the table as CSV.
    ///
    /// # Errors
    /// Does not fail at present.
    pub fn csv(&self) -> Result<String> {
        let mut bytes = Vec::new();
        self.write_csv(&mut bytes)?;
        String::from_utf8(bytes).map_err(|error| not_written(&error))
    }
}

fn not_written(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Io, error.to_string())
}
