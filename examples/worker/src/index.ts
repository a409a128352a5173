// A Worker whose writes are executed once, however often a client repeats them.
import { idempotent } from "oncekey-worker";
import { charge, userOf, type Order } from "./shop";

export { Shard } from "oncekey-worker";

const orders: Order[] = [];

async function handle(request: Request): Promise<Response> {
  const user = userOf(request.headers.get("Authorization") ?? "");
  if (user === undefined) return Response.json({ error: "unauthorized" }, { status: 401 });
  if (request.method === "GET") return Response.json(orders.filter((order) => order.user === user));
  const { item, card } = await request.json<{ item: string; card: string }>();
  const order = { id: crypto.randomUUID(), user, item };
  orders.push(order);
  await charge(card);
  return Response.json(order, { status: 201 });
}

export default {
  fetch: idempotent(handle, {
    keyRequired: ["POST:/orders"], // a request without a key gets 400
    retentionSeconds: 7 * 86_400, // a week
    fingerprintIgnore: ["POST:/orders:/sent_at"], // a retry may have another value here
    scope: (request) => userOf(request.headers.get("Authorization") ?? ""), // each user has their own keys
  }),
};
