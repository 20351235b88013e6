//! WebSockets that send each message back, for the servers of a library.

#[cfg(feature = "actix")]
pub mod actix;
#[cfg(feature = "hyper")]
pub mod hyper;
