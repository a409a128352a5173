// The console: signs an operator in, looks every few seconds, and shows what it saw.

import { NoResponse, NotAllowed } from "./api.js";
import { Beat } from "./beat.js";
import { Chart } from "./chart.js";
import { letCopy } from "./copy.js";
import { Counters, DECISIONS } from "./counters.js";
import { byId, say } from "./dom.js";
import { Door } from "./door.js";
import { Search } from "./find.js";
import { CHANGES, Hour } from "./hour.js";
import { kinOf } from "./kin.js";
import { Life } from "./life.js";
import { List } from "./list.js";
import { letSettle, settleAsSeen } from "./settle.js";
import { clock, date, many, nameOf } from "./words.js";

/** The journal is read with every fourth look, because reading it asks every shard and it changes little. */
const JOURNAL = 4;

const TITLE = document.title;
const state = byId("state");
const words = byId("words");
const narrow = matchMedia("(max-width: 760px)");

const door = new Door(enter);
const life = new Life();
const list = new List(byId("keys"), (hash) => choose(hash));
const beat = new Beat(look);
const decisions = new Chart(byId("decisions"), { series: DECISIONS, length: 10_000, count: 60 });
const changes = new Chart(byId("changes"), { series: CHANGES, length: 60_000, count: 60 });

/** The state of a signed-in operator; undefined otherwise. */
let desk;

function enter(api) {
  desk = { api, search: new Search(api), counters: new Counters(), hour: new Hour(), looks: 0, since: Date.now() };
  document.body.dataset.view = "list";
  for (const chart of [decisions, changes]) chart.show([], desk.since);
  say(byId("since"), date(desk.since));
  say(byId("loading"), "Asking the shards for their keys…");
  byId("loading").hidden = false;
  byId("keys-title").focus();
  beat.start();
}

function leave(reason) {
  beat.stop();
  desk = undefined;
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  list.show([], Date.now());
  list.mark(undefined);
  life.turnTo(undefined);
  for (const id of ["count-unknown", "count-in-flight", "count-completed", "count-replayed"]) say(byId(id), "–");
  say(byId("unknown-words"), "unknown");
  say(byId("said"), "");
  document.title = TITLE;
  state.value = words.value = "";
  trouble();
  door.close(reason);
}

/** One look at everything that is shown. */
async function look() {
  const at = desk;
  const { api, search, counters, hour, chosen } = at;
  const asked = question();
  const wantsJournal = at.looks % JOURNAL === 0;
  try {
    const [seen, isolate, rows, one] = await Promise.all([
      search.look(asked),
      api.isolate(),
      wantsJournal ? api.journal({ from: hour.since(Date.now()) }) : undefined,
      chosen && api.key(chosen),
    ]);
    if (desk !== at) return;
    const now = Date.now();
    counters.add(isolate, now);
    if (rows) hour.add(rows, now);
    at.looks += 1;
    if (isSame(asked, question())) showList(seen, asked, now);
    showNumbers(seen, now);
    if (chosen && chosen === at.chosen) life.show(chosen, one);
    trouble();
    say(byId("seen"), clock(now));
    at.seenAt = now;
  } catch (error) {
    if (desk !== at) return;
    if (error instanceof NotAllowed) return leave("The token is not accepted any more. Sign in again.");
    trouble(error);
    throw error;
  }
}

const question = () => ({ state: state.value, words: words.value.trim() });
const isSame = (one, other) => one.state === other.state && one.words === other.words;

function showList({ keys, hasMore }, asked, now) {
  list.show(keys, now);
  byId("keys").hidden = keys.length === 0;
  const loading = byId("loading");
  loading.hidden = keys.length > 0;
  say(loading, keys.length > 0 ? "" : emptyWords(asked));
  say(byId("more"), hasMore ? `The newest ${keys.length} are shown; find others by their hash or by a request id.` : "");
}

function emptyWords({ state: wanted, words: sought }) {
  if (sought) return "No key has this hash or was changed by this request.";
  return wanted ? "No key is in this state." : "No keys yet. Send a write with an Idempotency-Key, and it shows up here.";
}

function showNumbers({ unknown, inFlight }, now) {
  const { counters, hour } = desk;
  const number = ({ count, hasMore }) => `${count}${hasMore ? "+" : ""}`;
  decisions.show(counters.samples, now);
  changes.show(hour.samples, now);
  const open = { ...unknown, count: unknown.count || unknown.businessKeys };
  say(byId("count-unknown"), number(open));
  say(byId("unknown-words"), unknownWords(unknown));
  byId("count-unknown").classList.toggle("some", open.count > 0);
  say(byId("count-in-flight"), number(inFlight));
  say(byId("count-completed"), `${many(hour.completed)}${hour.isWhole ? "" : "+"}`);
  const replayed = counters.samples.reduce((sum, { values }) => sum + (values.replayed ?? 0), 0);
  say(byId("count-replayed"), many(replayed));
  byId("not-whole").hidden = hour.isWhole;
  document.title = open.count > 0 ? `(${number(open)}) ${TITLE}` : TITLE;
  say(byId("said"), open.count === 1 ? "1 outcome is unknown." : `${number(open)} outcomes are unknown.`);
}

function unknownWords({ count, businessKeys }) {
  const keys = businessKeys === 1 ? "business key" : "business keys";
  if (businessKeys === 0) return "unknown";
  return count > 0 ? `unknown, and ${businessKeys} ${keys}` : `unknown ${keys}`;
}

/** Reports that a look has failed. The earlier data stays visible. */
function trouble(error) {
  const bar = byId("trouble");
  document.body.classList.toggle("stale", error !== undefined);
  bar.hidden = error === undefined;
  if (error === undefined) return;
  const reason =
    error instanceof NoResponse
      ? navigator.onLine
        ? "The gateway does not answer."
        : "There is no connection."
      : error.status
        ? `The gateway responded with ${error.status}: ${error.message}`
        : `The gateway's response cannot be read: ${error.message}`;
  const seen = desk?.seenAt ? ` What you see is of ${clock(desk.seenAt)}.` : "";
  say(bar, `${reason}${seen} It is tried again by itself.`);
}

/** `goes`: moves the focus to the key, because the clicked element has gone. */
async function choose(hash, goes = false) {
  if (!desk) return;
  desk.chosen = hash;
  list.mark(hash);
  if (life.hash !== hash) life.turnTo(hash);
  document.body.dataset.view = "life";
  byId("copy-key").dataset.copy = hash;
  // On a narrow screen the key replaces the list, so the focus moves to the key.
  if (narrow.matches) byId("back").focus();
  const at = desk;
  try {
    const one = await at.api.key(hash);
    if (desk !== at || at.chosen !== hash) return;
    life.show(hash, one);
    if (goes) byId("life-title").focus();
    await findKin();
  } catch {
    // The next look says what is wrong.
    beat.now();
  }
}

/** Shows other unknown outcomes of the same request. */
async function findKin() {
  const [at, whole] = [desk, life.whole];
  if (!whole?.key) return;
  const kin = await kinOf(at.api, whole);
  if (desk === at && life.hash === whole.hash) life.showKin(kin);
}

/** On a narrow screen the charts are closed at first. */
function fold() {
  byId("charts").open = !narrow.matches;
}
narrow.addEventListener("change", fold);
fold();

byId("kin").addEventListener("click", ({ target }) => {
  const hash = target.closest("[data-kin]")?.dataset.kin;
  if (hash) choose(hash, true);
});
byId("back").addEventListener("click", () => {
  document.body.dataset.view = "list";
  list.focus();
});
byId("sign-out").addEventListener("click", () => leave());
state.addEventListener("change", () => beat.now());
let typing;
words.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => beat.now(), 250);
});
byId("filter").addEventListener("submit", (event) => event.preventDefault());

letCopy((what) => say(byId("copied"), what));
letSettle({
  current: () => life.current,
  settle: (key, settlement) => settleAsSeen(desk.api, key, settlement),
  done(key, result, isGood) {
    if (!desk) return;
    // The next look reads the journal too: it has a row more.
    desk.looks = 0;
    if (key.key === desk.chosen) life.showResult(`${nameOf(key)} ${result}`, isGood);
    beat.now();
    findKin().catch(() => {});
  },
  failed(error) {
    if (!(error instanceof NotAllowed)) return false;
    leave("The token is not accepted any more. Nothing was changed. Sign in again.");
    return true;
  },
});

addEventListener("offline", () => desk && trouble(new NoResponse()));
door.close();
