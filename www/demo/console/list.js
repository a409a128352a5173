// The list of keys: a listbox that updates its rows in place, so that new data moves neither the focus nor the reading
// position.

import { element, say } from "./dom.js";
import { ago, causeWord, shortHash, stateWord, thingWord } from "./words.js";

const HEADS = { unknown: "Unknown outcomes", in_progress: "In flight", rest: "Newest first" };

export class List {
  #box;
  #rows = new Map();
  #heads = new Map();
  #chosen;
  #choose;

  /** `choose`: called with the hash of a key that somebody picks. */
  constructor(box, choose) {
    this.#box = box;
    this.#choose = choose;
    box.addEventListener("click", ({ target }) => this.#pick(target.closest("[role=option]")));
    box.addEventListener("keydown", (event) => this.#press(event));
  }

  /** `keys` in their order; each is in the group of its state. */
  show(keys, now) {
    const wanted = [];
    let group;
    for (const key of keys) {
      const own = key.state in HEADS ? key.state : "rest";
      if (own !== group) wanted.push(this.#head((group = own)));
      wanted.push(this.#row(key, now));
    }
    this.#place(wanted);
    for (const [hash, { node }] of this.#rows) if (!node.isConnected) this.#rows.delete(hash);
    this.#keepOneStop();
  }

  /** Marks the key that is shown beside the list. */
  mark(hash) {
    this.#chosen = hash;
    for (const [name, { node }] of this.#rows) node.setAttribute("aria-selected", String(name === hash));
    this.#keepOneStop();
  }

  focus() {
    this.#box.querySelector("[tabindex='0']")?.focus();
  }

  #head(group) {
    if (!this.#heads.has(group)) {
      this.#heads.set(group, element("li", { class: "head", "aria-hidden": "true" }, HEADS[group]));
    }
    return this.#heads.get(group);
  }

  #row(key, now) {
    let row = this.#rows.get(key.key);
    if (!row) this.#rows.set(key.key, (row = newRow(key.key, key.key === this.#chosen)));
    const { node, state, of, why, when } = row;
    const facts = [
      key.of === "key" ? undefined : thingWord(key.of),
      key.state === "completed" ? `response ${key.http_status}` : causeWord(key),
      key.state === "in_progress" ? `attempt ${key.attempts}` : key.attempts > 1 ? `${key.attempts} attempts` : undefined,
    ];
    const time = ago(now - Date.parse(key.changed_at));
    const className = `row ${key.state}`;
    if (node.className !== className) node.className = className;
    say(state, stateWord(key.state));
    say(why, facts.filter(Boolean).join(", "));
    say(when, time);
    if (of.dateTime !== key.changed_at) of.dateTime = key.changed_at;
    return node;
  }

  /** Puts the rows in order. The focused row is not moved: the others move around it. */
  #place(wanted) {
    const focused = document.activeElement;
    const held = wanted.includes(focused) ? focused : undefined;
    const set = new Set(wanted);
    for (const node of [...this.#box.children]) if (!set.has(node) && node !== held) this.#drop(node, focused);
    let next = this.#box.firstChild;
    for (const node of wanted) {
      if (node === held) {
        while (next && next !== held) {
          const moved = next;
          next = next.nextSibling;
          this.#box.append(moved);
        }
      }
      if (node === next) next = next.nextSibling;
      else this.#box.insertBefore(node, next);
    }
  }

  /** Removes a row. If it has the focus, its neighbour gets it. */
  #drop(node, focused) {
    if (node === focused) {
      const near = neighbour(node, "nextElementSibling") ?? neighbour(node, "previousElementSibling");
      near?.focus({ preventScroll: true });
    }
    node.remove();
  }

  /** Tab stops once in the list: where the focus is or was, else at the chosen row, else at the first. */
  #keepOneStop(at) {
    const options = [...this.#box.querySelectorAll("[role=option]")];
    const stop =
      at ??
      options.find((one) => one === document.activeElement) ??
      options.find((one) => one.dataset.hash === this.#chosen) ??
      options[0];
    for (const one of options) {
      const index = one === stop ? 0 : -1;
      if (one.tabIndex !== index) one.tabIndex = index;
    }
  }

  #pick(option) {
    if (option) this.#choose(option.dataset.hash);
  }

  #press(event) {
    const option = event.target.closest("[role=option]");
    if (!option || event.ctrlKey || event.metaKey || event.altKey) return;
    const options = [...this.#box.querySelectorAll("[role=option]")];
    const index = options.indexOf(option);
    const to = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: options.length - 1 }[event.key];
    if (to !== undefined) {
      const next = options[Math.min(Math.max(to, 0), options.length - 1)];
      this.#keepOneStop(next);
      next.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      this.#pick(option);
    } else {
      return;
    }
    event.preventDefault();
  }
}

function newRow(hash, isChosen) {
  const state = element("b");
  const when = element("span");
  const of = element("time", {}, when);
  const why = element("span", { class: "why" });
  const node = element(
    "li",
    { role: "option", tabindex: "-1", "aria-selected": String(isChosen), "data-hash": hash },
    state,
    // The text is the row's name too. The spaces keep its words apart there.
    " ",
    element("code", {}, shortHash(hash)),
    " ",
    of,
    " ",
    why,
  );
  return { node, state, of, why, when };
}

function neighbour(node, side) {
  let next = node[side];
  while (next && next.role !== "option") next = next[side];
  return next ?? undefined;
}
