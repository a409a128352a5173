// An API on Hono whose orders are made once, however often a client repeats the request.
import { Hono } from "hono";
import { idempotency } from "oncekey-worker/hono";
import { charge, userOf, type Order } from "./shop";

export { Shard } from "oncekey-worker";

const app = new Hono<{ Variables: { user: string } }>();
const orders: Order[] = [];

// Your own authentication comes first. It says who the caller is.
app.use(async (c, next) => {
  const user = userOf(c.req.header("Authorization"));
  if (user === undefined) return c.json({ error: "unauthorized" }, 401);
  c.set("user", user);
  await next();
});

app.get("/orders", (c) => c.json(orders.filter(({ user }) => user === c.var.user)));

app.post(
  "/orders",
  idempotency({
    required: true, // a request without a key gets 400
    retentionSeconds: 7 * 86_400, // a week
    ignore: ["/sent_at"], // a retry may have another value here
    scope: (c) => c.get("user"), // each user has their own keys
  }),
  async (c) => {
    const { item, card } = await c.req.json();
    const order = { id: crypto.randomUUID(), user: c.var.user, item };
    orders.push(order);
    await charge(card);
    return c.json(order, 201);
  },
);

// What the client gets for a key, and whether an attempt is still running: GET /_oncekey/key.
app.get("/_oncekey/*", idempotency({ scope: (c) => c.get("user") }));

export default app;
