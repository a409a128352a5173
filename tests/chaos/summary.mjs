// Summaries of the runs as text.
import { PHASES } from "./phases.mjs";

const RUN = [
  "kills", "requests", "callers who hung up", "requests without a whole response", "pages left", "keys given up", "of these voided",
  "times that the server stood still", "times that the origin did not listen", "responses that could not be stored", "charges", "refunds", "settled as executed",
  "settled as not executed",
];

export function summary(run) {
  const { tally, server, intents, problems } = run;
  const starts = server.starts.toSorted((one, other) => one - other);
  const list = (word) => Object.entries(tally.under(word)).sort(([one], [other]) => one.localeCompare(other)).map(([name, count]) => `${name} ${count}`).join(", ");
  return [
    `${run.title}: ${problems.length === 0 ? "all keys are as promised" : `${problems.length} PROBLEMS`}`,
    `  ${String(intents.length).padStart(7)}  keys, of which ${intents.filter(({ isPage }) => isPage).length} are of pages with the npm package`,
    ...tally.lines(RUN),
    `  responses: ${list("response")}`,
    `  keys before the audit: ${list("at the end")}`,
    `  rows in the journal: ${list("journal")}`,
    ...(run.origin ? [`  faults at the origin: ${faults(run.origin)}`] : []),
    ...(starts.length > 0 ? [`  a start took ${Math.round(starts[0])} to ${Math.round(starts.at(-1))} ms`] : []),
  ].join("\n");
}

const faults = ({ calls }) => [...Map.groupBy(calls, ({ fault }) => fault)].map(([fault, of]) => `${fault} ${of.length}`).join(", ");

/** Returns how many kills hit requests in each phase, and how many keys. */
export function phaseTable(tally) {
  const rows = [...PHASES, "no request in progress that waits"].map((phase) => {
    const count = (word) => String(tally.of(`${word}: ${phase}`)).padStart(7);
    return `  ${count("phase")}  ${count("requests")}  ${phase}`;
  });
  return ["where the kills hit:", "    kills     keys", ...rows].join("\n");
}
