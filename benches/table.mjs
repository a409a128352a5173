// Writes the table of docs/performance.md from the raw figures of one run.
import { priceOfFirst, price } from "./price.mjs";

const number = (value, digits) => (value === undefined || Number.isNaN(value) ? "–" : value.toFixed(digits));
const kilobytes = (bytes) => (bytes === undefined ? "–" : `${(bytes / 1000).toFixed(1)} KB`);
const times = (value) => (value === undefined || Number.isNaN(value) ? "–" : `${value.toFixed(2)}×`);
const dollars = (value) => `$${value.toFixed(2)}`;
const rule = (...columns) => `|${columns.map((column) => ` ${column} |`).join("")}`;

/** Returns Markdown. Parts that were not measured are left out. */
export function table(results) {
  return [head(results), goals(results), results.gateway && gatewayTable(results.gateway), missing(results)].filter(Boolean).join("\n\n");
}

/** The engines whose clicks were measured, and those whose clicks were not. */
const measured = (page) => page.clicks.filter(({ missing }) => !missing);
const absent = (page) => page.clicks.filter(({ missing }) => missing);

function head({ date, revision, machine, workerd, page, settings }) {
  const busy = Math.max(machine.load[0], machine.loadAfter?.[0] ?? 0) > machine.processors;
  return (
    `Measured on ${date.slice(0, 10)} at revision ${revision}: ${machine.processors} processors, Node ${machine.node}, workerd ${workerd}` +
    `${page ? `, ${versions(page)}` : ""}; ${settings.rounds} alternating rounds, ${settings.connections} requests at once, body ${settings.bytes} bytes.` +
    (busy ? ` **Provisional:** other work ran on the machine (load ${machine.load[0].toFixed(1)}), so rates and times in the browser are worse than on a quiet one.` : "")
  );
}

/** The fingerprints are Chromium's in any case. */
const versions = (page) => [...new Set([`Chromium ${page.version}`, ...measured(page).map(({ version }) => version)])].join(", ");

/** What the run could not measure. */
function missing({ gateway, page }) {
  const left = Object.entries(gateway?.missing ?? {}).map(([name, why]) => `${name} (${why})`);
  if (page) left.push(...absent(page).map(({ engine, missing }) => `clicks in ${engine} (${missing})`));
  return left.length > 0 && `Not measured: ${left.join("; ")}.`;
}

function goals({ gateway, counts, sizes, page }) {
  const rows = [];
  const add = (what, goal, today) => rows.push(rule(what, goal, today));
  if (gateway) {
    const of = (phase, name) => gateway.rows.find((row) => row.phase === phase && row.name === name) ?? {};
    const ratio = (phase, field, name) => of(phase, "oncekey")[field] / of(phase, name)[field];
    add("first request: CPU against the floor", "≤ 1.25×", times(ratio("first", "cpu", "floor")));
    add("first request: rate on disk against the floor", "≥ 0.85×", times(ratio("first", "rate", "floor")));
    add("replay: CPU against hono-idempotency", "≤ 1.0×", times(ratio("replay", "cpu", "hono-idempotency")));
    add("replay: rate against hono-idempotency", "≥ 1.0×", times(ratio("replay", "rate", "hono-idempotency")));
    add("first request with 1 MB: CPU against the floor", "≤ 3×", times(ratio("first, 1 MB", "cpu", "floor")));
  }
  if (counts) {
    const { first, replay, replayByObject, expiry } = counts;
    add("first request: rows written, statements", "≤ 4, ≤ 4", `${first.rowsWritten}, ${first.statements}`);
    const three = [first, replay, replayByObject];
    add("replay by the object: rows written, statements; from memory, nothing", "0, ≤ 1", `${replayByObject.rowsWritten}, ${replayByObject.statements}`);
    add("object calls: first request, replay from memory, replay by the object", "2, 0, ≤ 1", three.map((of) => of.objectCalls).join(", "));
    add("calls between JavaScript and wasm (out, in): the same", "a handful", three.map((of) => `${of.outOfWasm} + ${of.intoWasm}`).join(", "));
    add("bytes in the object for a completed key: record, journal", "", `${number(counts.bytesOfKey.record, 0)}, ${number(counts.bytesOfKey.journal, 0)}`);
    const cpu = (phase) => gateway?.rows.find((row) => row.phase === phase && row.name === "oncekey")?.cpu ?? 0;
    add("list price of a million first requests, without KV", "≤ $6", dollars(priceOfFirst({ first, expiry }, cpu("first"))));
    add("the same with KV", "≤ $11.50", dollars(priceOfFirst({ first, expiry }, cpu("first"), 1)));
    add("list price of a million replays from memory", "≤ $0.35", dollars(price({ ...replay, cpu: cpu("replay") })));
  }
  if (sizes) {
    add("Worker without the sandbox, gzip", "≤ 150 KB", kilobytes(sizes.production));
    add("Worker with the sandbox, gzip", "", kilobytes(sizes.worker));
    add("npm: everything that `createClient` and `guardForm` load, gzip", "≤ 40 KB", kilobytes(sizes.package.whole));
    add("npm: what a page waits for before its form is guarded, gzip", "≤ 10 KB", kilobytes(sizes.package.waits));
    add("npm: translation for a CSP without wasm, gzip", "≤ 45 KB", kilobytes(sizes.package.translated));
  }
  if (page) {
    const against = (bare, guarded) => `${times(guarded / bare)} (${number(guarded, 1)} ms, ${number(bare, 1)} ms)`;
    for (const { engine, bare, guarded } of measured(page)) {
      add(`first click to request, against the bare form, ${engine}`, "≤ 2×", against(bare.first, guarded.first));
      add(`later clicks, ${engine}`, "≤ 1.3×", against(bare.later, guarded.later));
    }
    const of = (kind, rival) =>
      [...new Set(page.fingerprints.filter((row) => row.kind === kind).map(({ bytes }) => bytes))].map((bytes) => {
        const micros = (name) => page.fingerprints.find((row) => row.kind === kind && row.bytes === bytes && row.name === name).micros;
        return `${times(micros(rival) / micros("oncekey"))}`;
      });
    add("fingerprint of JSON of 0.2, 1.2, 4 and 16 KB: speed against `canonicalize` + `crypto.subtle`, Chromium", "≥ 3×", of("json", "canonicalize + crypto.subtle").join(", "));
    add("fingerprint of raw bodies of 64 KB and 1 MB: speed against `crypto.subtle`", "≥ 0.9×", of("raw", "crypto.subtle").join(", "));
  }
  return [rule("what", "goal", "today"), "|---|---|---|", ...rows].join("\n");
}

function gatewayTable({ rows }) {
  const phases = [...new Set(rows.map(({ phase }) => phase))];
  const names = [...new Set(rows.map(({ name }) => name))];
  const cell = (name, phase) => {
    const row = rows.find((one) => one.name === name && one.phase === phase);
    return row ? `${number(row.rate, 0)}/s, ${number(row.cpu, 0)} µs` : "–";
  };
  const lines = names.map((name) => rule(name, ...phases.map((phase) => cell(name, phase))));
  return [rule("requests a second, CPU of one", ...phases), `|---|${phases.map(() => "---|").join("")}`, ...lines].join("\n");
}
