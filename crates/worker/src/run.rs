//! Running claimed jobs, and reporting how their attempts ended.

pub(crate) mod attempt;
pub(crate) mod catch_panic;
pub(crate) mod end;
pub(crate) mod execute;
pub(crate) mod outcome_queue;
pub(crate) mod report;
pub(crate) mod run_queue;
