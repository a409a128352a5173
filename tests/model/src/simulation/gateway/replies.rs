//! Handles the replies of shards, the replica and the origin.

use super::{CurrentStep, Purpose, RecordHandle};
use crate::simulation::coverage::Milestone;
use crate::simulation::message::{OriginResponse, SeenResponse, To};
use crate::simulation::shard::Reply;
use crate::simulation::world::{Clock, World};
use oncekey::write_flow::{Event as FlowEvent, OriginFailure};
use oncekey::{Attempt, Record, Rejection, StoredResponse};
use std::rc::Rc;

impl World<'_> {
    /// Handles the result of a call to a shard; `None` if the gateway got no reply.
    pub(in crate::simulation) fn call_ended(&mut self, purpose: Purpose, reply: Option<Rc<Reply>>) {
        match purpose {
            Purpose::None => {}
            Purpose::KeyCall(to) => self.key_call_ends(to, reply.as_deref()),
            Purpose::Step { flow, step, is_end } => {
                if self.running(flow).is_none_or(|running| running.step != step) {
                    return;
                }
                let down = || match reply.as_deref() {
                    Some(Reply::Unreadable) => Rejection::RecordUnreadable,
                    _ => Rejection::StoreUnavailable,
                };
                let event = match reply.as_deref() {
                    Some(Reply::Ended(completion, status)) => {
                        FlowEvent::Ended(Some((completion.clone(), status.clone())))
                    }
                    Some(Reply::Begun(decision, status)) => {
                        self.keep_begun(flow, decision, status.as_ref());
                        FlowEvent::Begun(Ok((decision.clone(), status.clone())))
                    }
                    Some(Reply::Peeked(decision)) => FlowEvent::Peeked(Ok(decision.clone())),
                    Some(Reply::Settled(settling, status)) => {
                        FlowEvent::Settled(Ok((*settling, status.clone())))
                    }
                    _ if is_end => FlowEvent::Ended(None),
                    _ => self.no_reply(flow, down()),
                };
                self.advance_flow(flow, event);
            }
        }
    }

    /// Returns the event of a step that got no reply.
    fn no_reply(&mut self, flow: u32, why: Rejection) -> FlowEvent {
        match self.running(flow).map(|running| running.current) {
            Some(CurrentStep::Peek) => FlowEvent::Peeked(Err(why)),
            Some(CurrentStep::Settle) => FlowEvent::Settled(Err(why)),
            _ => FlowEvent::Begun(Err(why)),
        }
    }

    fn key_call_ends(&mut self, to: To, reply: Option<&Reply>) {
        let seen = match reply {
            Some(Reply::Status(status)) => {
                let status = status.as_ref();
                let report = (status.map(|s| s.state), status.and_then(|s| s.http_status));
                SeenResponse {
                    status: if status.is_some() { 200 } else { 404 },
                    report: Some(report),
                    ..SeenResponse::default()
                }
            }
            _ => SeenResponse {
                status: 503,
                code: Some("api_connection_error"),
                ..SeenResponse::default()
            },
        };
        self.response_leaves(to, seen);
    }

    pub(in crate::simulation) fn slow(&mut self, flow: u32, step: u8) {
        let Some(running) = self.running(flow) else { return };
        if running.step == step && running.current == CurrentStep::BeginFirst {
            let name = running.first.name;
            self.note(Milestone::ReplicaRaced);
            self.ask_replica(flow, step, name);
        }
    }

    /// Handles the reply of the replica. If it has nothing, the gateway waits for a shard that was asked too.
    pub(in crate::simulation) fn copied(&mut self, flow: u32, step: u8, bytes: Option<Rc<[u8]>>) {
        let Some(running) = self.flows[flow as usize].as_deref() else { return };
        if running.step != step {
            return;
        }
        let (handle, prints, current) = (running.first, running.prints, running.current);
        let now = self.time(Clock::Gateway(running.request.gateway));
        let copy = bytes.as_deref().and_then(|bytes| Record::decode(bytes).ok());
        let had_one = copy.is_some();
        let verified = copy.and_then(|copy| {
            let RecordHandle { token, minted_at, policy, .. } = handle;
            let attempt = Attempt { fingerprints: prints, token, minted_at, policy: &policy };
            self.rules.verify(copy, &attempt, now)
        });
        match verified {
            Some(step) => {
                self.note(Milestone::ReplicaGave);
                self.check_copy(handle.name, &step.decision, now);
                self.log(|_| format!("write flow {flow}: the replica has a copy"));
                self.drop_calls(flow);
                self.advance_flow(flow, FlowEvent::Copied(Some((step.decision, step.status))));
            }
            None => {
                self.note(if had_one {
                    Milestone::CopyNotVerified
                } else {
                    Milestone::ReplicaNothing
                });
                if current == CurrentStep::Replica {
                    self.advance_flow(flow, FlowEvent::Copied(None));
                }
            }
        }
    }

    pub(in crate::simulation) fn called(
        &mut self,
        flow: u32,
        step: u8,
        called: Result<OriginResponse, OriginFailure>,
    ) {
        let Some(running) = self.running(flow) else { return };
        if running.step != step {
            return;
        }
        running.own = called.as_ref().ok().cloned();
        self.log(|_| match &called {
            Ok(came) => {
                format!("write flow {flow}: the origin responds with {}", came.stored.status)
            }
            Err(failure) => format!("write flow {flow}: the origin: {failure:?}"),
        });
        self.advance_flow(flow, FlowEvent::Called(called.map(|came| came.stored)));
    }

    pub(in crate::simulation) fn looked_up(
        &mut self,
        flow: u32,
        step: u8,
        found: Option<Box<StoredResponse>>,
    ) {
        if self.running(flow).is_some_and(|running| running.step == step) {
            self.note(if found.is_some() {
                Milestone::FoundResponse
            } else {
                Milestone::FoundNothing
            });
            self.advance_flow(flow, FlowEvent::LookedUp(found.map(|found| *found)));
        }
    }
}
