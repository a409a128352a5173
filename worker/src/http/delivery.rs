//! A large response on its way to a caller who may be slow. Its bytes stay in the budget and go out in
//! pieces, so that the bytes that a caller has not read are counted and can be dropped.

use crate::http::body_budget::Reservation;
use futures_util::future::LocalBoxFuture;
use oncekey::Millis;
use platform::clock;
use std::rc::Rc;
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{ReadableStream, WritableStreamDefaultWriter};
use worker::worker_sys::FixedLengthStream;

/// The largest body that goes to the platform as a whole, and the size of the pieces of larger ones.
pub(crate) const PIECE: usize = 64 << 10;

/// How often a stalled delivery checks whether it may continue.
const LOOK: Millis = Millis::from_seconds(1);

/// How long a caller may stop reading: a response that it can get again, and any other response.
const LONGEST_PAUSE: Millis = Millis::from_seconds(60);
const LAST_PAUSE: Millis = Millis::from_seconds(300);

/// The work that feeds a stream while the caller reads.
pub(crate) type Delivery = LocalBoxFuture<'static, ()>;

/// Makes a stream of a response. A caller that `can_ask_again` is cut off if it does not read while
/// others need the memory. Returns the bytes if the platform cannot make a stream.
pub(crate) fn of(
    bytes: Vec<u8>,
    can_ask_again: bool,
    room: Rc<Reservation>,
) -> Result<(ReadableStream, Delivery), Vec<u8>> {
    let length = bytes.len();
    let stream = u32::try_from(length).ok().and_then(|length| FixedLengthStream::new(length).ok());
    let writer = stream.as_ref().and_then(|stream| stream.writable().get_writer().ok());
    let (Some(stream), Some(writer)) = (stream, writer) else { return Err(bytes) };
    room.put(bytes, can_ask_again);
    let work = async move { deliver(&room, length, can_ask_again, &writer).await };
    Ok((stream.readable(), Box::pin(work)))
}

async fn deliver(
    room: &Reservation,
    length: usize,
    can_ask_again: bool,
    writer: &WritableStreamDefaultWriter,
) {
    let longest = if can_ask_again { LONGEST_PAUSE } else { LAST_PAUSE };
    let mut at = 0;
    while at < length {
        let Some(piece) = room.piece(at, PIECE) else {
            return cut_off(writer).await;
        };
        at += PIECE;
        let mut write = JsFuture::from(writer.write_with_chunk(&piece));
        let began_at = clock::now();
        loop {
            match clock::within(LOOK, &mut write).await {
                Some(Ok(_)) => break,
                // The caller has gone.
                Some(Err(_)) => return,
                None => {}
            }
            if clock::now().since(began_at) >= longest || !room.is_kept() {
                return cut_off(writer).await;
            }
        }
        room.has_read(PIECE);
    }
    let _ = JsFuture::from(writer.close()).await;
}

/// Ends the connection. The announced length tells the caller that bytes are missing.
async fn cut_off(writer: &WritableStreamDefaultWriter) {
    let _ = JsFuture::from(writer.abort()).await;
}
