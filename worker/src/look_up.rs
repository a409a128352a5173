//! Look-ups: a read at the origin that may tell what became of a write.

use crate::attempt::Attempting;
use crate::upstream::{Deadline, OriginError, Outgoing};
use oncekey::{Decision, Millis, StoredResponse};

/// How long a look-up may take in all.
const LOOK_UP: Millis = Millis::from_seconds(10);

/// Asks the origin what became of a request that is told this; `None` where there is no look-up for
/// it, or where the response proves nothing. The caller's own credential is the only one there is.
pub(crate) async fn ask(attempting: &Attempting<'_>, told: &Decision) -> Option<StoredResponse> {
    let (config, incoming) = (&attempting.caller.config, attempting.incoming);
    let look_ups = match told {
        Decision::OutcomeUnknown => &config.resolve,
        _ => &config.resolve_numbers,
    };
    let (method, path) = (&incoming.method, &incoming.path);
    let content_type = incoming.header("content-type");
    let look_up = look_ups.find(method, path, content_type, &attempting.body)?;
    let request_id = &attempting.caller.request_id;
    let target = look_up.target.clone();
    let outgoing = Outgoing::look_up(incoming, target, &config.scope, request_id);
    let deadline = Deadline::after(LOOK_UP);
    match attempting.ask_origin(outgoing, &deadline).await {
        Ok((answer, body)) => {
            let found = attempting.stored(&answer, &body);
            Some(found).filter(|found| look_up.is_proved_by(found))
        }
        Err(OriginError::TimedOut) => {
            deadline.abort();
            None
        }
        Err(_) => None,
    }
}
