// The list in words: what the picture shows, for readers of all kinds.

import { letter } from "./model.js";
import { sentences, times } from "./words.js";

/** Keeps `list` as the journal is. Entries that are there stay, so that nobody loses their place. */
export function keepLog(list, journal) {
  const show = () => {
    const all = sentences(journal.events);
    const tabs = [...new Set(journal.events.map(({ tab }) => tab))];
    const begun = all[0]?.at;
    const wanted = all.map(({ at, tab, words, kind }) => ({
      time: `+${times(at - begun)}`,
      words: tabs.length > 1 ? `Tab ${letter(tabs.indexOf(tab))}: ${words}` : words,
      kind,
    }));
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    for (const [index, { time, words, kind }] of wanted.entries()) {
      const line = list.children[index] ?? list.appendChild(emptyLine());
      const [when, what] = line.children;
      if (what.textContent === words && when.textContent === time) continue;
      line.className = kind;
      when.textContent = time;
      what.textContent = words;
    }
    while (list.children.length > wanted.length) list.lastChild.remove();
    if (atEnd) list.scrollTop = list.scrollHeight;
  };
  journal.addEventListener("change", show);
  show();
}

function emptyLine() {
  const line = document.createElement("li");
  line.append(document.createElement("time"), document.createElement("span"));
  return line;
}
