import "htmx.org";
import { createClient } from "oncekey";

const client = createClient({ keyUrl: "/_oncekey/key" });

// htmx 4 sends a request with `ctx.fetch`, if it is set.
document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  const { intent } = ctx.sourceElement.dataset;
  if (!intent) return;
  ctx.fetch = (url, { method, headers, body, signal }) =>
    client.fetch(intent, url, { method, headers, body, signal }, { expects: "text/html" });
});
