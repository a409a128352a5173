// Serves the console and the demo on plain workerd, whose file service knows no types. It runs in workerd, not in Node.
const TYPES = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
  wasm: "application/wasm",
};

export default {
  async fetch({ method, url }, env) {
    const { pathname } = new URL(url);
    const type = TYPES[pathname.split(".").at(-1)];
    // The file service would answer the name of a folder with a list of its files.
    if (!type) return new Response(null, { status: 404 });
    const file = await env.FILES.fetch(`http://files${pathname}`, { method });
    if (file.status !== 200) return new Response(null, { status: 404 });
    const headers = new Headers(file.headers);
    headers.set("Content-Type", type);
    headers.set("Cache-Control", "public, max-age=0, must-revalidate");
    return new Response(file.body, { headers });
  },
};
