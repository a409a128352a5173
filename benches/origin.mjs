// An origin that uses little CPU time: it reads heads by hand and sends the same response to every request.
// `node origin.mjs BYTES` prints its port.
import { createServer } from "node:net";

const note = "x".repeat(Math.max(0, Number(process.argv[2] ?? 320) - 60));
const body = Buffer.from(JSON.stringify({ data: { id: "ord_1", object: "order", note } }));
const head = `HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
const response = Buffer.concat([Buffer.from(head), body]);

const server = createServer((socket) => {
  socket.setNoDelay(true);
  socket.on("error", () => {});
  let pending = Buffer.alloc(0);
  /** Bytes of a body that are still to come. */
  let skip = 0;
  socket.on("data", (chunk) => {
    if (skip > 0) {
      if (chunk.length < skip) return void (skip -= chunk.length);
      chunk = chunk.subarray(skip);
      skip = 0;
      socket.write(response);
    }
    pending = pending.length ? Buffer.concat([pending, chunk]) : chunk;
    for (;;) {
      const end = pending.indexOf("\r\n\r\n");
      if (end < 0) return;
      const text = pending.subarray(0, end).toString("latin1");
      if (/^transfer-encoding: *chunked/im.test(text)) {
        const last = pending.indexOf("0\r\n\r\n", end + 4);
        if (last < 0) return;
        pending = pending.subarray(last + 5);
      } else {
        const length = Number(/^content-length: *(\d+)/im.exec(text)?.[1] ?? 0);
        const have = pending.length - end - 4;
        if (have < length) {
          skip = length - have;
          pending = Buffer.alloc(0);
          return;
        }
        pending = pending.subarray(end + 4 + length);
      }
      socket.write(response);
    }
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
