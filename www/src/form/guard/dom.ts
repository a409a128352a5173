// The guard's access to the page.
//
// A control named `method`, `elements` or `addEventListener` hides the form's own property of that name. So these
// functions take methods and properties of a form from the prototypes, never from the form itself. They look the names up
// at each call, so that the package can be loaded without a page, and do not use `instanceof`, which fails for the form
// of another frame.

/** A control of a form. No other control can hide its properties. */
export type Control = HTMLButtonElement | HTMLInputElement;

export function listen(target: EventTarget, type: string, listener: (event: never) => void, capture = false): void {
  EventTarget.prototype.addEventListener.call(target, type, listener as EventListener, capture);
}

export function unlisten(target: EventTarget, type: string, listener: (event: never) => void, capture = false): void {
  EventTarget.prototype.removeEventListener.call(target, type, listener as EventListener, capture);
}

export function attribute(element: Element, name: string): string | null {
  return Element.prototype.getAttribute.call(element, name);
}

/** Sets an attribute, or removes it if the value is null. */
export function setAttribute(element: Element, name: string, value: string | null): void {
  if (value === null) Element.prototype.removeAttribute.call(element, name);
  else Element.prototype.setAttribute.call(element, name, value);
}

/** Returns a property that elements have from `Node`. */
function ofNode(name: "ownerDocument" | "parentNode", node: Node): unknown {
  return Reflect.get(Node.prototype, name, node);
}

export function documentOf(form: HTMLFormElement): Document {
  return ofNode("ownerDocument", form) as Document;
}

export function parentOf(node: Node): Node | null {
  return ofNode("parentNode", node) as Node | null;
}

export function append(parent: Node, child: Node): void {
  Node.prototype.appendChild.call(parent, child);
}

/** Returns every element in the form that the selector finds. */
export function all(form: HTMLFormElement, selector: string): Element[] {
  return Array.from(Element.prototype.querySelectorAll.call(form, selector));
}

/** Returns the form's controls. Throws if this is no form. */
export function controls(form: HTMLFormElement): Control[] {
  return Array.from(Reflect.get(HTMLFormElement.prototype, "elements", form) as HTMLCollectionOf<Control>);
}

/** Returns every control that can submit the form, inside or outside of it. */
export function submitters(form: HTMLFormElement): Control[] {
  const root = rootOf(form);
  // A form does not list its image buttons.
  const selector = "input[type=image i]";
  const images = root === documentOf(form) ? Array.from(Document.prototype.querySelectorAll.call(root, selector)) : all(form, selector);
  return [
    ...controls(form).filter(({ type }) => type === "submit"),
    ...(images as HTMLInputElement[]).filter((image) => image.form === form),
  ];
}

/** Returns the focused element in the form's own tree. */
export function focused(form: HTMLFormElement): HTMLElement | null {
  const root = rootOf(form);
  return root === form ? null : ((root as Document).activeElement as HTMLElement | null);
}

function rootOf(form: HTMLFormElement): Node {
  return Node.prototype.getRootNode.call(form);
}

/** Returns the values that the form would send now. */
export function entriesOf(form: HTMLFormElement, submitter: HTMLElement | null): FormData {
  if (!submitter) return new FormData(form);
  if (knowsSubmitters(form)) {
    try {
      return new FormData(form, submitter);
    } catch {
      // The submitter has left the form since.
    }
  }
  const data = new FormData(form);
  const name = attribute(submitter, "name") ?? "";
  if ((submitter as HTMLInputElement).type === "image") {
    for (const axis of ["x", "y"]) data.append(name ? `${name}.${axis}` : axis, "0");
  } else if (name) {
    data.append(name, attribute(submitter, "value") ?? "");
  }
  return data;
}

/** Returns whether this browser's `FormData` takes a submitter. If so, it refuses other elements. */
function knowsSubmitters(form: HTMLFormElement): boolean {
  const probe = documentOf(form).createElement("form");
  try {
    new FormData(probe, probe);
    return false;
  } catch {
    return true;
  }
}
