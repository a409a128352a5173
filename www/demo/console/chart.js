// A chart of stacked bars in a figure, its legend with numbers as its text.

import { line, shape, text } from "../shared/svg.js";
import { binsOf, roundUp, totalsOf } from "./bins.js";
import { element, say } from "./dom.js";
import { date, many } from "./words.js";

const HEAD = 12;
const FOOT = 18;
const GUTTER = 30;

export class Chart {
  #place;
  #legend;
  #series;
  #bins;
  #now;
  #width = 0;

  /** `series`: names and words; `length` and `count` of the bars. */
  constructor(figure, { series, length, count }) {
    this.#place = figure.querySelector(".plot");
    this.#legend = figure.querySelector("ul");
    this.#series = series;
    this.#bins = { length, count };
    this.#legend.append(
      ...Object.entries(series).map(([name, { words }]) =>
        element("li", { class: `key ${name}` }, element("b", {}, "0"), ` ${words}`),
      ),
    );
    new ResizeObserver(([{ contentRect }]) => {
      this.#width = contentRect.width;
      this.#draw();
    }).observe(this.#place);
  }

  show(samples, now) {
    this.#now = now;
    this.bins = binsOf(samples, { now, ...this.#bins });
    this.totals = totalsOf(this.bins);
    for (const [index, name] of Object.keys(this.#series).entries()) {
      say(this.#legend.children[index].firstChild, many(this.totals[name] ?? 0));
    }
    this.#draw();
  }

  #draw() {
    if (!this.#width || !this.bins) return;
    const width = this.#width;
    const height = this.#place.clientHeight;
    const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
    const most = roundUp(Math.max(...this.bins.map(({ sum }) => sum), 4));
    const y = (value) => height - FOOT - (value / most) * (height - HEAD - FOOT);
    const step = (width - GUTTER) / this.bins.length;
    svg.append(...this.#lines(width, height, most, y), ...this.#bars(step, y), ...this.#times(width, height));
    this.#place.replaceChildren(svg);
  }

  #lines(width, height, most, y) {
    return [0, most / 2, most].flatMap((value) => [
      line(value === 0 ? "rail" : "grid", `M${GUTTER} ${Math.round(y(value)) + 0.5}H${width}`),
      ...(Number.isInteger(value) ? [text(GUTTER - 6, y(value) + 4, many(value), "tick last")] : []),
    ]);
  }

  #bars(step, y) {
    const gap = step > 5 ? 1 : 0.5;
    return this.bins.flatMap(({ values, sum }, index) => {
      if (sum === 0) return [];
      let below = 0;
      return Object.keys(this.#series).flatMap((name) => {
        if (!values[name]) return [];
        const [bottom, top] = [y(below), y((below += values[name]))];
        const place = { x: GUTTER + index * step + gap / 2, y: top, width: step - gap, height: bottom - top };
        return [shape("rect", { class: `bar ${name}`, ...place })];
      });
    });
  }

  #times(width, height) {
    const { from } = this.bins[0];
    const half = this.bins[Math.floor(this.bins.length / 2)].from;
    return [
      text(GUTTER, height - 4, date(from, this.#now), "tick"),
      text(GUTTER + (width - GUTTER) / 2, height - 4, date(half, this.#now), "tick middle"),
      text(width, height - 4, "now", "tick last"),
    ];
  }
}
