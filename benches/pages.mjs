// Serves the pages of the benchmarks, and bundles their scripts.
import { createServer } from "node:http";
import { build } from "esbuild";

/** A small server of pages, which responds to each POST at once. `files`: their contents, by path. */
export class Pages {
  static async open(files, host = "127.0.0.1") {
    const pages = new Pages();
    pages.server = createServer((request, response) => {
      // An isolated page has a clock of a few microseconds.
      response.setHeader("Cross-Origin-Opener-Policy", "same-origin");
      response.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
      response.setHeader("Cache-Control", "no-store");
      if (request.method === "POST") {
        request.resume();
        response.writeHead(201, { "Content-Type": "application/json", "Idempotency-State": "completed" }).end("{}");
        return;
      }
      const content = files[request.url];
      const type = { js: "text/javascript", wasm: "application/wasm", html: "text/html; charset=utf-8" }[request.url.split(".").at(-1)];
      if (content === undefined) response.writeHead(404).end();
      else response.writeHead(200, { "Content-Type": type }).end(content);
    });
    await new Promise((resolve) => pages.server.listen(0, host, resolve));
    pages.url = `http://${host}:${pages.server.address().port}`;
    return pages;
  }
  async close() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

export async function bundled(options) {
  const { outputFiles } = await build({ bundle: true, minify: true, format: "esm", platform: "browser", target: "es2022", write: false, logLevel: "error", ...options });
  return outputFiles[0].contents;
}
