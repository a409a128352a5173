//! Renewals of a write flow, and the ways in which it ends early: crashes, and callers that hang up.

use super::{CurrentStep, Purpose, RecordHandle, TIME_AFTER_HANG_UP};
use crate::simulation::calls::Patience;
use crate::simulation::coverage::Milestone;
use crate::simulation::message::{Event, SeenResponse, To};
use crate::simulation::shard::ShardOperation;
use crate::simulation::world::World;
use oncekey::replica::Memory;
use std::rc::Rc;

impl World<'_> {
    /// Renews the leases until the write flow is over.
    pub(in crate::simulation) fn renew(&mut self, flow: u32) {
        let Some(running) = self.running(flow) else { return };
        let Some(after) = running.renews else { return };
        let (gateway, handles) =
            (running.request.gateway, [Some(running.first), running.business_key]);
        for RecordHandle { name, token, .. } in handles.into_iter().flatten() {
            let renew = ShardOperation::Renew { token };
            self.call(gateway, name, renew, Patience::within(after), Purpose::None);
        }
        self.later(after, Event::Renew { flow });
    }

    /// Crashes a gateway: its write flows are lost, and the messages that it sent still arrive.
    pub(in crate::simulation) fn crash(&mut self, gateway: usize) {
        self.note(Milestone::Crashed);
        self.memories[gateway] = Memory::new();
        self.log(|_| format!("gateway {gateway} crashes"));
        let mut executing = false;
        for flow in &mut self.flows {
            if let Some(running) = flow.take_if(|running| running.request.gateway == gateway) {
                executing |= running.current == CurrentStep::Origin;
            }
        }
        for call in &mut self.calls {
            call.take_if(|call| call.gateway == gateway);
        }
        if executing {
            self.note(Milestone::CrashedExecuting);
        }
    }

    /// Lets a caller hang up. The write flow continues for as long as the platform allows.
    pub(in crate::simulation) fn hang_up(&mut self, pick: u16) {
        let alive = self.flows.iter().enumerate().filter(|(_, flow)| flow.is_some());
        let alive: Vec<_> = alive.map(|(number, _)| number as u32).collect();
        if alive.is_empty() {
            return;
        }
        let flow = alive[usize::from(pick) % alive.len()];
        let Some(running) = self.running(flow) else { return };
        let to = running.request.to;
        running.request.to = To::Caller { caller: usize::MAX, number: 0 };
        self.note(Milestone::HungUp);
        self.log(|_| format!("the caller of write flow {flow} hangs up"));
        self.later(
            0,
            Event::Response(to, Rc::new(SeenResponse { failed: true, ..SeenResponse::default() })),
        );
        self.later(TIME_AFTER_HANG_UP, Event::PlatformEnds { flow });
    }

    pub(in crate::simulation) fn platform_ends(&mut self, flow: u32) {
        if self.flows[flow as usize].take().is_some() {
            self.note(Milestone::EndedByPlatform);
            self.log(|_| format!("the platform ends write flow {flow}"));
            self.drop_calls(flow);
        }
    }

    /// Stops waiting for the calls of a write flow. The messages that were sent still arrive.
    pub(super) fn drop_calls(&mut self, flow: u32) {
        for call in &mut self.calls {
            call.take_if(
                |call| matches!(call.purpose, Purpose::Step { flow: of, .. } if of == flow),
            );
        }
    }
}
