// Keeps the picture as the journal is, and lets it grow while something is under way.

import { isMoving, modelOf } from "./model.js";
import { draw } from "./picture.js";

export class Timeline {
  #place;
  #journal;
  #width = 0;
  #stop = () => {};
  #calm = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(place, journal) {
    this.#place = place;
    this.#journal = journal;
    journal.addEventListener("change", () => this.#draw());
    new ResizeObserver(([{ contentRect }]) => {
      this.#width = contentRect.width;
      this.#draw();
    }).observe(place);
  }

  #draw() {
    if (!this.#width) return;
    this.#stop();
    const now = Date.now();
    const model = modelOf(this.#journal.events, now);
    this.#place.replaceChildren(draw(model, now, this.#width, this.#journal.tab));
    if (isMoving(model, now)) this.#goOn();
  }

  #goOn() {
    // Who wants no motion gets a picture a second.
    if (this.#calm.matches) {
      const timer = setTimeout(() => this.#draw(), 1000);
      this.#stop = () => clearTimeout(timer);
    } else {
      const frame = requestAnimationFrame(() => this.#draw());
      this.#stop = () => cancelAnimationFrame(frame);
    }
  }
}
