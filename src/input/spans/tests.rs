//! Tests of whole traces.
