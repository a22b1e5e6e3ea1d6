//! Tests of the private Redis servers: start, kill, restart, failover, slot migration.

mod cluster;
mod fault_proxy;
mod sentinels;
mod single;
mod slow_proxy;
