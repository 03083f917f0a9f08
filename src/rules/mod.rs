//! The rules, and the hardware knowledge they judge by.
//!
//! The knowledge modules are constant tables: nothing is parsed or read at run time.

pub mod node_condition;
pub mod product;
pub mod xid;
