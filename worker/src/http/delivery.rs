//! A large response on its way to a caller who may be slow. Its bytes stay in the budget and go out in
//! pieces, so that the bytes that a caller has not read are counted and can be dropped.

use crate::http::body_budget::Reservation;
use crate::http::bridge::{Bridge, Sink};
use futures_util::future::LocalBoxFuture;
use oncekey::Millis;
use platform::clock;
use platform::operation::{DONE, LATE};
use std::rc::Rc;
use web_sys::ReadableStream;

/// The largest body that goes to the platform as a whole, and the size of the pieces of larger ones.
pub(crate) const PIECE: usize = 64 << 10;

/// How often a stalled delivery checks whether it may continue.
const LOOK: Millis = Millis::from_seconds(1);

/// How long a caller may stop reading: a response that it can get again, and any other response.
const LONGEST_PAUSE: Millis = Millis::from_seconds(60);
const LAST_PAUSE: Millis = Millis::from_seconds(300);

/// The work that feeds a stream while the caller reads.
pub(crate) type Delivery = LocalBoxFuture<'static, ()>;

/// Makes a stream of bytes, and of the `rest` where there is more. A caller that `can_ask_again` is cut off if it does
/// not read while others need the memory.
pub(crate) fn of(
    bridge: &Bridge,
    bytes: Vec<u8>,
    rest: Option<ReadableStream>,
    can_ask_again: bool,
    room: Rc<Reservation>,
) -> (ReadableStream, Delivery) {
    let length = bytes.len();
    let sink = bridge.sink(if rest.is_none() { length as f64 } else { -1.0 });
    let stream = sink.readable();
    room.put(bytes, can_ask_again);
    let work = async move {
        if deliver(&room, length, can_ask_again, &sink).await.is_some() {
            // The rest may take hours.
            room.close();
            sink.finish(rest.as_ref()).await;
        } else {
            // The announced length, or the missing end, tells the caller that bytes are missing.
            sink.abort();
        }
    };
    (stream, Box::pin(work))
}

/// Delivers all pieces. Returns `None` if the caller has gone, or is cut off.
async fn deliver(
    room: &Reservation,
    length: usize,
    can_ask_again: bool,
    sink: &Sink,
) -> Option<()> {
    let longest = if can_ask_again { LONGEST_PAUSE } else { LAST_PAUSE };
    for at in (0..length).step_by(PIECE) {
        room.piece(at, PIECE, |piece| sink.write(piece))?;
        let began_at = clock::now();
        loop {
            match sink.wait(LOOK).await.status {
                DONE => break,
                LATE if clock::now().since(began_at) < longest && room.is_kept() => {}
                _ => return None,
            }
        }
        room.has_read(PIECE);
    }
    Some(())
}
