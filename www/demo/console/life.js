// One key: its state, its history as a picture and in words, and the decisions that are possible.

import { byId, element, say } from "./dom.js";
import { historyOf } from "./history.js";
import { draw } from "./picture.js";
import { untouchable } from "./untouchable.js";
import { causeWords, clock, nameOf, outlook, sentence, shortHash, stateWord, titleOf } from "./words.js";

export class Life {
  #width = 0;
  #life;
  #shown;
  #drawn;
  #timer;
  #on = {
    title: byId("life-title"),
    place: byId("picture"),
    facts: byId("facts"),
    log: byId("log"),
    acts: byId("acts"),
    still: byId("untouchable"),
    kin: byId("kin"),
    result: byId("result"),
  };

  constructor() {
    new ResizeObserver(([{ contentRect }]) => {
      this.#width = contentRect.width;
      this.#draw();
    }).observe(this.#on.place);
    // What is under way grows from one look to the next.
    this.#timer = setInterval(() => {
      if (this.#life?.key?.state === "in_progress" && !document.hidden) this.#draw();
    }, 1000);
  }

  get hash() {
    return this.#life?.hash;
  }

  /** The record that is shown. */
  get current() {
    return this.#life?.key ?? undefined;
  }

  /** Another key was picked, and its data is not loaded yet. */
  turnTo(hash) {
    this.#life = undefined;
    this.#shown = undefined;
    byId("no-life").hidden = hash !== undefined;
    byId("loading-life").hidden = hash === undefined;
    byId("one-life").hidden = true;
    say(this.#on.result, "");
    this.#on.result.className = "";
    this.showKin([]);
  }

  /** `life`: {key, journal} as the gateway returns it, or undefined if there is neither. */
  show(hash, life) {
    byId("loading-life").hidden = true;
    byId("no-life").hidden = life !== undefined;
    byId("one-life").hidden = life === undefined;
    if (!life) return say(byId("no-life"), "Nothing is known of this key any more.");
    const text = JSON.stringify(life);
    this.#life = { hash, ...life };
    if (text !== this.#shown) {
      this.#shown = text;
      this.#describe();
    }
    this.#draw();
  }

  /** Shows other unknown records of the same request; see kin.js. A click on one picks it, as in the list. */
  showKin(kin) {
    const { kin: place } = this.#on;
    place.hidden = kin.length === 0;
    place.replaceChildren(
      "The same request has left another outcome unknown, which waits for a decision of its own: ",
      ...kin.flatMap((one, index) => [
        index > 0 ? ", " : "",
        element("button", { type: "button", class: "link", "data-kin": one.key }, nameOf(one).toLowerCase()),
      ]),
      ".",
    );
  }

  /** The key, its hash and its journal. */
  get whole() {
    return this.#life;
  }

  /** Shows the result of a decision. */
  showResult(words, isGood) {
    this.#on.result.className = isGood ? "good" : "bad";
    say(this.#on.result, words);
    this.#on.result.focus();
  }

  #describe() {
    const { hash, key, journal } = this.#life;
    const { title, facts, log, acts, still } = this.#on;
    const last = journal.at(-1);
    const { of, scope, created_at: begun } = key ?? last;
    const state = key?.state ?? "gone";
    const [what, name, pill] = title.children;
    say(what, titleOf(of));
    say(name, shortHash(hash));
    say(pill, stateWord(state));
    pill.className = `pill ${state}`;
    facts.replaceChildren(
      fact("Whose", scope ? shortHash(scope) : "not noted", scope ?? undefined),
      fact("Begun", clock(Date.parse(begun))),
      fact("Attempts", String(key?.attempts ?? last.attempt)),
      ...(key?.http_status ? [fact(state === "completed" ? "Response" : "Last status", String(key.http_status))] : []),
      ...(key?.request_id ? [fact("Request", key.request_id)] : []),
    );
    log.replaceChildren(...lines(this.#life));
    const isOpen = state === "unknown";
    const hadFocus = acts.contains(document.activeElement);
    acts.hidden = !isOpen;
    still.hidden = isOpen;
    say(still, isOpen ? "" : untouchable(state));
    // The focused button has gone, so the focus moves to the title, which says the key's state.
    if (hadFocus && !isOpen) title.focus();
  }

  #draw() {
    if (!this.#life || !this.#width) return;
    const now = Date.now();
    const isMoving = this.#life.key?.state === "in_progress";
    const drawn = `${this.#width} ${this.#shown} ${isMoving && now}`;
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    this.#on.place.replaceChildren(draw(historyOf(this.#life, now), now, this.#width));
  }
}

function fact(name, words, whole) {
  const value = element("dd", {}, element(whole ? "code" : "span", {}, words));
  if (whole) value.append(copyButton(whole, "Copy the hash of the scope"));
  return element("div", {}, element("dt", {}, name), value);
}

/** Copies on a click; see copy.js. */
const copyButton = (whole, name) =>
  element("button", { type: "button", class: "copy", "data-copy": whole, "aria-label": name }, "Copy");

/** The picture in words, for readers of all kinds. */
function lines({ key, journal }) {
  const begun = key?.created_at ?? journal.at(-1)?.created_at;
  const now = Date.now();
  const all = journal.map((row) => ({ at: row.at, words: sentence(row), kind: row.kind, id: row.request_id }));
  const isNoted = journal.some((row) => row.created_at === begun && row.attempt > 0);
  if (key?.attempts > 0 || isNoted) insert(all, { at: begun, words: "Attempt 1 began.", kind: "began" });
  if (key?.state === "unknown" && key.cause === "lease_died") {
    const words = `The ${causeWords(key).replace("its last", "last")}. It may have been executed. The outcome is unknown.`;
    insert(all, { at: key.changed_at, words, kind: "unknown" });
  }
  if (key?.replays) {
    const { count, last_at: at, since } = key.replays;
    const times = count === 1 ? "once" : `${count} times`;
    insert(all, { at, words: `The response was replayed ${times} since ${clock(Date.parse(since), now)}, here for the last time.`, kind: "replayed" });
  }
  const items = all.map(({ at, words, kind, id }) =>
    element(
      "li",
      { class: kind },
      element("time", { datetime: at }, clock(Date.parse(at), now)),
      element("span", {}, words, ...(id ? [" ", element("code", {}, id)] : [])),
    ),
  );
  const next = element("li", { class: "next" }, element("span", {}, "From now on"), element("span", {}, outlook(key ?? {}, now)));
  return [...items, next];
}

function insert(all, one) {
  const place = all.findIndex(({ at }) => Date.parse(at) >= Date.parse(one.at));
  all.splice(place === -1 ? all.length : place, 0, one);
}
