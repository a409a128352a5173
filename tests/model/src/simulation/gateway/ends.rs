//! How a write flow lives and ends: renewals, crashes, callers who hang up.

use super::{Doing, OUTLIVES, Purpose, RecordHandle};
use crate::simulation::calls::Patience;
use crate::simulation::coverage::Met;
use crate::simulation::message::{Event, SeenResponse, To};
use crate::simulation::shard::Operation;
use crate::simulation::world::World;
use std::rc::Rc;

impl World<'_> {
    /// The leases are kept until the write flow is over.
    pub(in crate::simulation) fn renew(&mut self, flow: u32) {
        let Some(running) = self.running(flow) else { return };
        let Some(after) = running.renews else { return };
        let (gateway, handles) =
            (running.request.gateway, [Some(running.first), running.business_key]);
        for RecordHandle { name, token, .. } in handles.into_iter().flatten() {
            let renew = Operation::Renew { token };
            self.call(gateway, name, renew, Patience::within(after), Purpose::Nobody);
        }
        self.later(after, Event::Renew { flow });
    }

    /// All that a gateway did is gone; what it has sent is still on its way.
    pub(in crate::simulation) fn crash(&mut self, gateway: usize) {
        self.note(Met::Crashed);
        self.tell(|_| format!("gateway {gateway} dies"));
        let mut executing = false;
        for flow in &mut self.flows {
            if let Some(running) = flow.take_if(|running| running.request.gateway == gateway) {
                executing |= running.doing == Doing::Origin;
            }
        }
        for call in &mut self.calls {
            call.take_if(|call| call.gateway == gateway);
        }
        if executing {
            self.note(Met::CrashedExecuting);
        }
    }

    /// The caller hangs up: the write flow goes on for as long as the platform lets it.
    pub(in crate::simulation) fn reset(&mut self, pick: u16) {
        let alive = self.flows.iter().enumerate().filter(|(_, flow)| flow.is_some());
        let alive: Vec<_> = alive.map(|(number, _)| number as u32).collect();
        if alive.is_empty() {
            return;
        }
        let flow = alive[usize::from(pick) % alive.len()];
        let Some(running) = self.running(flow) else { return };
        let to = running.request.to;
        running.request.to = To::Caller { caller: usize::MAX, number: 0 };
        self.note(Met::Reset);
        self.tell(|_| format!("the caller of write flow {flow} hangs up"));
        self.later(
            0,
            Event::Response(to, Rc::new(SeenResponse { failed: true, ..SeenResponse::default() })),
        );
        self.later(OUTLIVES, Event::Outlived { flow });
    }

    pub(in crate::simulation) fn outlived(&mut self, flow: u32) {
        if self.flows[flow as usize].take().is_some() {
            self.note(Met::OutlivedReset);
            self.tell(|_| format!("write flow {flow} is ended by the platform"));
            self.drop_calls(flow);
        }
    }

    /// Nobody waits for them any more; what was sent is still on its way.
    pub(super) fn drop_calls(&mut self, flow: u32) {
        for call in &mut self.calls {
            call.take_if(
                |call| matches!(call.purpose, Purpose::Step { flow: of, .. } if of == flow),
            );
        }
    }
}
