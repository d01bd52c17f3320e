//! The official Rust SDK as server and as client:
//!
//! ```text
//! interop serve stdio|http <folder>
//! interop drive legacy|modern|auto <url>
//! interop drive legacy|modern|auto <command> <argument ...>
//! ```

// Sampling, roots and logging are deprecated, and still spoken.
#![allow(deprecated)]

mod client;
mod ledger;
mod server;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", mode, folder] => server::serve(mode, ledger::Ledger::new(folder)).await,
        ["drive", era, target @ ..] if !target.is_empty() => client::drive(era, target).await,
        _ => anyhow::bail!("usage: interop serve <mode> <folder> | interop drive <era> <target ...>"),
    }
}
