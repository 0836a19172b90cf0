//! Rows into a stream, and when ticks end.

use super::ticks::Ticks;
use crate::error::{Error, Result};
use linalg_dp::window::{Pace, PrivateStream};
use readers::{Input, Limits, Prefetch};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// When ticks end.
#[derive(Debug, Clone, Copy)]
pub(super) enum Strikes {
    /// After the rows of a block.
    ByRows,
    /// With the input.
    AtTheEnd,
    /// After a time, by a clock that nobody can set, and with the input.
    Every(Duration),
}

impl Strikes {
    /// Reads the input to its end; every tick that ends on the way is published before the next begins.
    pub(super) fn feed(
        self,
        input: Input,
        limits: Limits,
        stream: &mut PrivateStream,
        ticks: &mut Ticks,
    ) -> Result<()> {
        let (d, file) = (input.rows.d(), limits.file.clone());
        if let Self::Every(time) = self {
            let (sender, rows) = sync_channel(4);
            let read = move || hand_on(input, limits, &sender);
            let thread = std::thread::Builder::new().name("rows".into()).spawn(read);
            thread.map_err(|e| dp_core::Error::io("threads", &e))?;
            let mut strike = Instant::now() + time;
            loop {
                // Even where rows never stop coming.
                let left = strike.saturating_duration_since(Instant::now());
                let next = if left.is_zero() {
                    Err(RecvTimeoutError::Timeout)
                } else {
                    rows.recv_timeout(left)
                };
                match next {
                    Ok(part) => push(stream, &part?, d, &file, ticks)?,
                    Err(RecvTimeoutError::Timeout) => {
                        tick(stream, ticks)?;
                        // Strikes that were slept through, by a stopped process say, fall together.
                        while strike <= Instant::now() {
                            strike += time;
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => return tick(stream, ticks),
                }
            }
        }
        Prefetch::start(input.rows, limits)?.each::<Error>(|block, first| {
            let rows = block.dense(d);
            push(stream, &rows, d, &file, ticks).map_err(|e| e.after(first))
        })?;
        match self {
            // How many rows a tick has, and whether it has any, may be protected: none is as good as any.
            Self::AtTheEnd => tick(stream, ticks),
            _ => Ok(()),
        }
    }
}

/// Rows up to the end of every block, so that each is published before the next begins.
fn push(
    stream: &mut PrivateStream,
    rows: &[f64],
    d: usize,
    file: &Path,
    ticks: &mut Ticks,
) -> Result<()> {
    let mut rest = rows;
    while !rest.is_empty() {
        let block = stream.config().block;
        let room = match stream.config().pace {
            Pace::Rows => block - stream.next_row() % block,
            _ => u64::MAX,
        };
        let take = (rest.len() / d).min(usize::try_from(room).unwrap_or(usize::MAX));
        let (now, later) = rest.split_at(take * d);
        let closed = stream.push(now);
        let closed = closed.map_err(|e| of_tick(e, stream).in_file(file))?;
        if closed > 0 {
            ticks.publish(stream)?;
        }
        rest = later;
    }
    Ok(())
}

/// The clock strikes.
fn tick(stream: &mut PrivateStream, ticks: &mut Ticks) -> Result<()> {
    let before = stream.blocks_closed();
    let struck = stream.tick();
    struck.map_err(|e| of_tick(e, stream))?;
    if stream.blocks_closed() > before { ticks.publish(stream) } else { Ok(()) }
}

/// An error of the stream, with the tick where rows that were given again are others: it begins anew then, so that the next row
/// is its first.
fn of_tick(error: linalg_dp::Error, stream: &PrivateStream) -> Error {
    match error {
        linalg_dp::Error::Unusable { what: "rows", reason } => {
            let tick = stream.next_row() / stream.config().block;
            Error::Refused(format!(
                "these are not the rows of tick {tick}: {reason} (--first-tick)"
            ))
        }
        error => {
            let most = [("rows between ticks", "rows between ticks (--block says how many)")];
            Error::from(error).with_options(&most)
        }
    }
}

/// Reads rows and hands them to another thread, until nobody wants them.
fn hand_on(input: Input, limits: Limits, to: &SyncSender<Result<Vec<f64>>>) {
    let (d, file) = (input.rows.d(), limits.file.clone());
    let gone = || Error::Refused("the stream has ended".into());
    let read = Prefetch::start(input.rows, limits).map_err(Error::from).and_then(|blocks| {
        blocks
            .each::<Error>(|block, _| to.send(Ok(block.dense(d).into_owned())).map_err(|_| gone()))
    });
    if let Err(error) = read {
        // Nobody to tell is no error.
        let _ = to.send(Err(error.in_file(&file)));
    }
}
