// What somebody did: presses of Pay, loads of the page, questions, changes of the basket. The picture's first row.

import { line, shape, text } from "../shared/svg.js";

/** Where the marks stand, below the names of tabs, and how far apart they stay: a double click is two of them, side by side. */
const Y = 35;
const APART = 15;

export function marksOf(model, { x, height, tabs }) {
  let free = -Infinity;
  return model.marks.flatMap((mark) => {
    const name = tabs.size > 1 ? tabs.get(mark.tab) : "";
    if (mark.what === "opened") return opened(x(mark.at), height, name);
    const at = Math.max(x(mark.at), free);
    const drawn = markOf(mark, at);
    if (drawn.length === 0) return [];
    free = at + APART;
    const isPress = mark.what === "press" || mark.what === "swallowed";
    return name && isPress ? [...drawn, text(at, Y - 10, name, "note middle")] : drawn;
  });
}

function opened(at, height, name) {
  return [line("opened", `M${at} 4V${height - 22}`), text(at + 4, 10, name ? `tab ${name}` : "loaded", "note")];
}

function markOf({ what, about }, at) {
  switch (what) {
    case "press":
    case "swallowed":
      return [line(what, `M${at - 6} ${Y - 6}h12l-6 10z`)];
    case "asked":
      return [
        shape("circle", { class: "asked", cx: at, cy: Y, r: 7 }),
        text(at, Y + 4, about === "void" ? "×" : "?", "note middle"),
      ];
    case "elsewhere":
      return [line("elsewhere", `M${at} ${Y - 6}l6 6-6 6-6-6z`)];
    case "basket":
      return [shape("rect", { class: "changed", x: at - 5, y: Y - 5, width: 10, height: 10 })];
    default:
      return [];
  }
}
