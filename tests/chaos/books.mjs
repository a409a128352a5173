// The records of the origin at rest: the charges of the test's own origin, or the sandbox's ledger.
import { ADMIN_TOKEN } from "./setups.mjs";

/** Returns the problems of the records. */
export async function booksOf(run) {
  return run.origin ? charges(run) : ledger(run);
}

/** Checks that every charge belongs to an intent, and no intent has two charges, whatever its keys. */
function charges(run) {
  const problems = [];
  const intents = new Map(run.intents.map((intent) => [intent.order, intent]));
  for (const [order, made] of Map.groupBy(run.origin.charges, ({ order }) => order)) {
    if (made.length > 1) problems.push(`${order} was charged ${made.length} times: ${JSON.stringify(made)}`);
    if (!intents.has(order)) problems.push(`${order} was charged, but no buyer wanted it`);
  }
  for (const { order, result } of intents.values()) {
    if (result?.status !== 201) continue;
    const named = JSON.parse(result.text).charge;
    if (!run.origin.charges.some(({ id, order: of }) => id === named && of === order)) problems.push(`a buyer got ${named} for ${order}, which is not in the origin's records`);
  }
  run.tally.note("charges", run.origin.charges.length);
  return problems;
}

/** Checks that the sum of the ledger is 0, that it agrees with each order, and that reconciliation finds nothing. */
async function ledger(run) {
  const problems = [];
  const credentials = { apiKey: run.merchant, key: "none" };
  const must = (holds, problem) => holds || problems.push(problem);
  const { sum } = (await run.insist("GET", "/v1/ledger/balance", credentials)).json.data;
  must(sum === 0, `the sum of the ledger is ${sum} instead of 0`);
  const entries = await pages(run, credentials, "/v1/ledger/entries?limit=100");
  const byOrder = Map.groupBy(entries, ({ order_id }) => order_id);
  const bought = Map.groupBy(run.intents, ({ order }) => order);
  for (const intents of bought.values()) {
    const of = (thing) => intents.find((intent) => intent.makes === thing && intent.result?.status === 201);
    const placed = of("order")?.result.json.data;
    if (!placed) continue;
    const paid = of("payment") ? placed.amount : 0;
    const refunded = of("refund") ? JSON.parse(of("refund").body).amount : 0;
    const order = (await run.insist("GET", `/v1/orders/${placed.id}`, credentials)).json.data;
    must(order.amount_paid === paid && order.amount_refunded === refunded, `its buyer paid ${paid} and got back ${refunded}, but the order contains ${JSON.stringify(order)}`);
    const mine = byOrder.get(placed.id) ?? [];
    const cash = mine.filter(({ account }) => account === "cash").map(({ amount }) => amount);
    const due = [...(paid ? [paid] : []), ...(refunded ? [-refunded] : [])];
    must(JSON.stringify(cash) === JSON.stringify(due), `the order's cash moved by ${cash} instead of ${due}: ${placed.id}`);
    must(mine.reduce((all, { amount }) => all + amount, 0) === 0, `the sum of the entries of an order is not 0: ${placed.id}`);
    run.tally.note("charges", cash.filter((amount) => amount > 0).length);
    run.tally.note("refunds", cash.filter((amount) => amount < 0).length);
  }
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
  for (let path = "/_oncekey/reconcile?limit=100"; path; ) {
    const response = await run.insist("GET", path, credentials, { headers });
    for (const lacking of response.json.lacking) problems.push(`reconciliation reports a difference: ${JSON.stringify(lacking)}`);
    path = response.get("Link")?.match(/^<(.*)>; rel="next"$/)[1];
  }
  return problems;
}

async function pages(run, credentials, path) {
  const all = [];
  for (let cursor = ""; cursor !== null; ) {
    const { data, next_cursor } = (await run.insist("GET", path + (cursor && `&cursor=${cursor}`), credentials)).json;
    all.push(...data);
    cursor = next_cursor ?? null;
  }
  return all;
}
