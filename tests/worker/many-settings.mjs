// The built Worker under many settings at once, for tests: `/N/path` goes to the Nth copy of the entry, as an isolate
// of its own would be, with the settings of the header Test-Settings.
import { WorkerEntrypoint } from "cloudflare:workers";

export { Merchant, Shard } from "./entry.mjs";

export default class extends WorkerEntrypoint {
  async fetch(request) {
    const url = new URL(request.url);
    const [, copy, path] = url.pathname.match(/^\/(\d+)(\/.*)$/);
    const { default: Entry } = await import(`./entry-${copy}.mjs`);
    const headers = new Headers(request.headers);
    const vars = JSON.parse(headers.get("Test-Settings"));
    headers.delete("Test-Settings");
    const asked = new Request(new URL(path, url), { method: request.method, headers, body: request.body });
    return new Entry(this.ctx, { ...this.env, ...vars }).fetch(asked);
  }
}
