// The setups: the Worker in front of the test's own origin or with the sandbox, with settings that make faults likely.
// Leases are short, so that expired leases are frequent.
import { Intent } from "./intents.mjs";
import { Origin } from "./origin.mjs";

export const ADMIN_TOKEN = "chaos-admin-0123456789";
const vars = { ADMIN_TOKEN, LEASE_SECONDS: 1, ORIGIN_TIMEOUT_SECONDS: 2 };

/** One payment for each buyer at the test's own origin. A third of the buyers are pages with the npm package. */
async function* payments(run, random, number) {
  const order = `order-${number}`;
  const declined = random.chance(12);
  const isPage = random.chance(33);
  yield new Intent({
    number,
    apiKey: "chaos-tenant",
    key: isPage ? undefined : random.key(),
    path: "/pay",
    body: { order, amount: random.between(1, 99999), card: declined ? "declined" : "good" },
    declined,
    effects: declined ? 0 : 1,
    order,
    waits: !isPage && random.chance(70),
  });
}

/** An order in the sandbox, its payment, and often a refund. */
async function* purchases(run, random, number) {
  const apiKey = run.merchant;
  const isPage = random.chance(25);
  const waits = !isPage && random.chance(75);
  const amount = random.between(1, 99999);
  const intent = (of, path, body, more) =>
    new Intent({ number: `${number}-${of}`, apiKey, key: isPage ? undefined : random.key(), path, body, makes: of, order: number, waits, ...more });
  const placed = yield intent("order", "/v1/orders", { out_trade_no: `T${number}`, amount, currency: "USD", subject: "chaos" });
  if (!placed) return;
  const order_id = placed.json.data.id;
  const declined = random.chance(12);
  const card = { number: declined ? "4000000000000002" : "4242424242424242" };
  const paid = yield intent("payment", "/v1/payments", { order_id, card }, { declined });
  if (!paid || declined || random.chance(50)) return;
  yield intent("refund", "/v1/refunds", { out_refund_no: `R${number}`, order_id, amount: random.between(1, amount) });
}

const FAULTS = { none: 55, "error-before": 7, "error-after": 12, "delay": 13, "delay-after": 13 };

const atOrigin = (kind) => ({
  buys: payments,
  open: (run) => Origin.start({ kind, random: run.random.of("origin"), slow: 1600, bus: run.bus }),
  /** Returns the number of effects. */
  effects: (run, intent) => run.origin.charges.filter(({ order }) => order === intent.order).length,
});

export const SETUPS = {
  /** The origin charges with every call. An unknown outcome is on hold, the default with an upstream. */
  naive: { ...atOrigin("naive"), hold: true, vars, replica: false },
  /** The origin recognizes the forwarded key, so an unknown outcome may be executed again. */
  deduplicating: { ...atOrigin("deduplicating"), hold: false, vars: { ...vars, UNKNOWN_OUTCOME: "retry" }, replica: true },
  /** The sandbox with orders, payments, refunds and a ledger. */
  sandbox: {
    buys: purchases,
    open: () => undefined,
    hold: false,
    vars: { ...vars, SANDBOX: "open" },
    replica: true,
    /** Returns the fault that the sandbox has for one request. */
    headers(random) {
      const fault = random.weighted(FAULTS);
      if (fault === "none") return {};
      return { "Sandbox-Fault": fault.startsWith("delay") ? `${fault}=${random.below(1500)}` : fault };
    },
    async effects(run, intent) {
      const response = await run.insist("GET", `/v1/sandbox/executions/${intent.key}`, intent);
      return response.json.data.count;
    },
  },
};
