// Runs in a page, and returns a list of accessibility problems.

export function faultsOf() {
  const faults = [];
  const shown = (node) => node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const describe = (node) => `${node.localName}${node.id && `#${node.id}`} “${node.textContent.trim().slice(0, 30)}”`;

  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  for (const id of new Set(ids)) if (ids.filter((one) => one === id).length > 1) faults.push(`two elements have the id ${id}`);
  for (const attribute of ["aria-labelledby", "aria-describedby"]) {
    for (const node of document.querySelectorAll(`[${attribute}]`)) {
      for (const id of node.getAttribute(attribute).split(" ")) if (!ids.includes(id)) faults.push(`${describe(node)}: no #${id}`);
    }
  }
  for (const node of document.querySelectorAll("button, input, select, textarea, a, [role=option], [role=listbox], dialog")) {
    const labels = [...(node.labels ?? [])].map(({ textContent }) => textContent).join("");
    const by = node.getAttribute("aria-labelledby");
    const name = node.ariaLabel ?? (by ? document.getElementById(by)?.textContent : labels || node.textContent);
    if (node.ariaHidden !== "true" && !name?.trim()) faults.push(`${describe(node)} has no name`);
  }
  for (const node of document.querySelectorAll("svg")) {
    if (!node.closest("[aria-hidden=true]")) faults.push("a picture without text is not hidden from screen readers");
  }
  for (const node of document.querySelectorAll("button, select, input:not(.unseen), textarea")) {
    if (!shown(node)) continue;
    const box = (node.type === "checkbox" ? node.closest("label") : node).getBoundingClientRect();
    if (box.height < 24 || box.width < 24) faults.push(`${describe(node)} is ${box.width} × ${box.height}`);
  }
  if (document.querySelectorAll("main").length - [...document.querySelectorAll("main")].filter((one) => !shown(one)).length !== 1) {
    faults.push("not one main");
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`wider than the window: ${document.documentElement.scrollWidth}`);
  if (document.getAnimations().length > 0 && matchMedia("(prefers-reduced-motion: reduce)").matches) faults.push("something moves");

  const numbers = (colour) => colour.match(/[\d.]+/g)?.map(Number) ?? [];
  const isClear = (colour) => numbers(colour)[3] === 0 || colour === "none";
  const light = (colour) => {
    const [r, g, b] = numbers(colour).map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (let one = node; one; one = one.parentElement) {
      const { backgroundColor } = getComputedStyle(one);
      if (!isClear(backgroundColor)) return backgroundColor;
    }
    return getComputedStyle(document.documentElement).backgroundColor;
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !shown(node) || node.closest(".unseen, noscript, script, option")) continue;
    if (document.querySelector("dialog[open]") && !node.closest("dialog")) continue;
    const style = getComputedStyle(node);
    // The background of a text in the picture is the band that was drawn just before it.
    let band = node.localName === "text" && node.matches(".state, .until") ? node.previousElementSibling : undefined;
    while (band && band.localName !== "rect") band = band.previousElementSibling;
    const fill = band && getComputedStyle(band).fill;
    const [one, other] = [node.localName === "text" ? style.fill : style.color, fill && !isClear(fill) ? fill : behind(node)].map(light);
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const size = Number.parseFloat(style.fontSize);
    if (size < 11) faults.push(`${describe(node)} is ${size}px`);
    if (contrast < (size >= 24 ? 3 : 4.5)) faults.push(`${describe(node)} has a contrast of ${contrast.toFixed(2)}`);
  }
  return faults;
}
