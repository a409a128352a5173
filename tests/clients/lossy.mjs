// A proxy between a client and the gateway that loses responses: the gateway has stored the response, and the client
// gets a broken connection, or an error of the proxy.
import { createServer, request } from "node:http";
import { createServer as createSecureServer } from "node:https";

/**
 * Starts the proxy. It loses the first `losses` responses to POST requests at `path`, or to all if there is none. `loss`:
 * what the client gets instead, "broken" or "503". `certificate`: {cert, key} of an https address.
 */
export async function startLossy(upstream, { losses = 1, path, loss = "broken", certificate } = {}) {
  let left = losses;
  const seen = [];
  const serve = (incoming, outgoing) => {
    const counts = incoming.method === "POST" && (path === undefined || incoming.url === path);
    if (counts) seen.push(incoming.headers);
    const forwarded = request(upstream + incoming.url, { method: incoming.method, headers: incoming.headers, agent: false }, (response) => {
      if (counts && left > 0) {
        left -= 1;
        response.resume().on("end", () => {
          if (loss === "broken") incoming.socket.destroy();
          else outgoing.writeHead(Number(loss), { "Content-Type": "application/json", "Retry-After": "0" }).end("{}");
        });
        return;
      }
      outgoing.writeHead(response.statusCode, response.headers);
      response.pipe(outgoing);
    });
    forwarded.on("error", () => incoming.socket.destroy());
    incoming.pipe(forwarded);
  };
  const server = certificate ? createSecureServer(certificate, serve) : createServer(serve);
  await new Promise((resolve) => server.listen({ port: 0, host: "127.0.0.1" }, resolve));
  return {
    url: `${certificate ? "https" : "http"}://127.0.0.1:${server.address().port}`,
    /** The headers of the requests that counted. */
    seen,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
