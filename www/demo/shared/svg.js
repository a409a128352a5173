// SVG nodes, made by hand.

export function shape(name, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [attribute, value] of Object.entries(attributes)) node.setAttribute(attribute, value);
  return node;
}

export function text(x, y, words, kind) {
  const node = shape("text", { x, y, class: kind });
  node.textContent = words;
  return node;
}

export const line = (kind, d) => shape("path", { class: kind, d });
