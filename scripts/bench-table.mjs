// Writes the tables and the chart of docs/performance.md again from the raw figures of `make bench`: bench-table.mjs [FILE]
// (default: target/bench/latest.json)
import { readFileSync, writeFileSync } from "node:fs";
import { chart } from "../benches/chart.mjs";
import { table } from "../benches/table.mjs";

const root = new URL("../", import.meta.url).pathname;
const page = `${root}docs/performance.md`;
const PLACE = /(<!-- bench -->)[^]*(<!-- end of bench -->)/;

const results = JSON.parse(readFileSync(process.argv[2] ?? `${root}target/bench/latest.json`, "utf8"));
const text = readFileSync(page, "utf8");
if (!PLACE.test(text)) throw new Error("docs/performance.md lacks the marks between which the tables belong");
writeFileSync(page, text.replace(PLACE, (_, begin, end) => `${begin}\n\n${table(results)}\n\n${end}`));
if (results.gateway) writeFileSync(`${root}docs/performance.svg`, chart(results));
