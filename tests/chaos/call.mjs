// Sends one request as a caller, who may hang up during the request.
import { request as send } from "node:http";
import { ReceivedResponse } from "../worker/fixtures/client.mjs";

/**
 * Sends a request on its own connection, and fails without a complete response. `quit`: {how, after} - the caller
 * resets or closes the connection after this many milliseconds, or sends half of the body and resets. `bus` gets an event
 * when the request was sent and when a response arrives.
 */
export function call(url, { method = "POST", path, headers, body = "", quit, bus, timeout = 10_000 }) {
  const { hostname, port } = new URL(url);
  const bytes = Buffer.from(body);
  const all = { ...headers, Connection: "close", ...(method === "POST" && { "Content-Length": bytes.length }) };
  return new Promise((resolve, reject) => {
    const request = send({ hostname, port, method, path, headers: all, agent: false, timeout }, (response) => {
      bus?.emit("received");
      const chunks = [];
      const pairs = response.rawHeaders.flatMap((name, at, raw) => (at % 2 ? [] : [[name, raw[at + 1]]]));
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve(new ReceivedResponse(response.statusCode, pairs, Buffer.concat(chunks))));
      response.on("error", reject).on("aborted", () => reject(new Error("the response was cut")));
    });
    request.on("error", reject).on("timeout", () => request.destroy(new Error("no response in time")));
    const hangUp = () => {
      const { socket } = request;
      if (quit.how === "close" || !socket) request.destroy(new Error("hung up"));
      else socket.resetAndDestroy();
    };
    if (quit) {
      const timer = setTimeout(hangUp, quit.after);
      request.once("close", () => clearTimeout(timer));
    }
    if (quit?.how === "half") request.write(bytes.subarray(0, bytes.length / 2));
    else request.end(bytes, () => bus?.emit("sent"));
  });
}
