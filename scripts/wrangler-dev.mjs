// Runs `wrangler dev` for `make start`, whose arguments check-start.mjs has checked, with the settings and an open sandbox.
import { serve } from "../worker/npm/lib/server.mjs";

const port = Number(process.env.PORT || 8787);
const given = (process.env.ONCEKEY_VARS || "").split(/\s+/).filter(Boolean);
// In local development, webhooks may also go to this machine.
const vars = new Map([["SANDBOX", "open"], ["WEBHOOK_TARGETS", "local"]]);
for (const setting of given) {
  const at = setting.indexOf("=");
  vars.set(setting.slice(0, at), setting.slice(at + 1));
}
const settings = [...vars].flatMap(([name, value]) => ["--var", `${name}:${value}`]);

const values = [
  "../node_modules/wrangler/bin/wrangler.js", "dev", "--ip", "127.0.0.1",
  "--port", String(port), "--inspector-port", "0", "--persist-to", process.env.STATE,
  "--show-interactive-dev-session=false", "--log-level", process.env.LOG_LEVEL || "warn", ...settings,
];
// wrangler runs its [build] command, relative to worker/, where it is started itself.
const options = { cwd: "worker", env: { ...process.env, CI: "true" } };
console.log(`-- workerd, state in ${process.env.STATE}`);
// A Worker that is busy with a long request must not block the terminal.
await serve({ name: "wrangler", command: [process.execPath, values, options], port, portOption: "PORT=", grace: 5000 });
