//! What all rules know of a step.

pub(crate) mod call_form;
pub(crate) mod no_call;
