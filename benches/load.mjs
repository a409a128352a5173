// Sends requests to an HTTP server over connections that stay open. The requests are written by hand, so that the client
// uses little CPU time.
import { randomUUID } from "node:crypto";
import { connect } from "node:net";

/** Returns a JSON body of about this many bytes, in the form of an order. */
export function order(bytes) {
  const items = [];
  let length = 90;
  for (let at = 0; length < bytes; at++) {
    const item = { id: `itm_${String(at).padStart(5, "0")}`, amount: 1299 + at, currency: "EUR", title: `Item "${at}" — größe` };
    length += Buffer.byteLength(JSON.stringify(item)) + 1;
    items.push(item);
  }
  return Buffer.from(JSON.stringify({ out_trade_no: "ORDER_1042", amount: 2990, currency: "USD", items }));
}

/**
 * Sends `requests` requests over `connections` connections; `keyOf(n)` is the key of the nth. Returns the rate, latencies
 * in milliseconds, how often each status came, and how many responses were replays.
 */
export function load({ port, path = "/v1/orders", connections, requests, keyOf = () => randomUUID(), body }) {
  const latencies = new Float64Array(requests);
  const statuses = {};
  const sockets = [];
  let sent = 0, done = 0, replayed = 0;
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const finish = () => {
      const seconds = (performance.now() - begun) / 1000;
      for (const socket of sockets) socket.destroy();
      latencies.sort();
      const at = (part) => latencies[Math.min(requests - 1, Math.floor(requests * part))];
      resolve({ rate: requests / seconds, p50: at(0.5), p99: at(0.99), statuses, replayed });
    };
    for (let i = 0; i < Math.min(connections, requests); i++) {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      sockets.push(socket);
      let pending = Buffer.alloc(0), startedAt = 0;
      const send = () => {
        if (sent === requests) return;
        const key = keyOf(sent++);
        startedAt = performance.now();
        const head = `POST ${path} HTTP/1.1\r\nHost: bench\r\nX-Api-Key: sandbox_bench\r\nContent-Type: application/json\r\nIdempotency-Key: ${key}\r\nContent-Length: ${body.length}\r\n\r\n`;
        if (body.length < 65536) socket.write(Buffer.concat([Buffer.from(head), body]));
        else (socket.write(head), socket.write(body));
      };
      socket.on("connect", send);
      socket.on("error", reject);
      socket.on("close", () => done < requests && reject(new Error("the server closed a connection")));
      socket.on("data", (chunk) => {
        pending = pending.length ? Buffer.concat([pending, chunk]) : chunk;
        const end = pending.indexOf("\r\n\r\n");
        if (end < 0) return;
        const head = pending.subarray(0, end).toString("latin1");
        const length = /^content-length: *(\d+)/im.exec(head)?.[1];
        if (length !== undefined ? pending.length < end + 4 + Number(length) : pending.indexOf("0\r\n\r\n", end + 2) < 0) return;
        pending = Buffer.alloc(0);
        const status = head.slice(9, 12);
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (/^idempoten(t|cy)-replayed: true/im.test(head)) replayed += 1;
        latencies[done++] = performance.now() - startedAt;
        if (done === requests) finish();
        else send();
      });
    }
  });
}
