// Elements, made by hand: texts are always texts, never markup.

export const byId = (id) => document.getElementById(id);

/** An element with these attributes, those that are undefined left out, and these children. */
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== undefined) node.setAttribute(attribute, value);
  }
  node.append(...children);
  return node;
}

/** Says something else only where it is something else, so that nothing is read out or redrawn in vain. */
export function say(node, words) {
  if (node.textContent !== words) node.textContent = words;
}
