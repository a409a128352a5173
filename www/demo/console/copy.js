// Buttons that copy what they name: hashes are too long to be read off.

/** Handles every button with `data-copy` in this page. `tell` announces the result to screen readers. */
export function letCopy(tell) {
  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("[data-copy]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      flash(button, "Copied");
      tell("Copied.");
    } catch {
      // Without a secure connection there is no clipboard: the whole is shown instead, ready to be taken.
      const code = button.parentElement.querySelector("code");
      code.textContent = button.dataset.copy;
      getSelection().selectAllChildren(code);
      tell("It could not be copied. It is selected.");
    }
  });
}

function flash(button, words) {
  const before = button.textContent;
  if (before === words) return;
  button.textContent = words;
  setTimeout(() => (button.textContent = before), 1500);
}
