// axe-core, which finds accessibility problems in a page.
import axe from "axe-core";

/** Returns the findings of axe in a page, each as one text. */
export async function findingsOf(page) {
  // Not as an element of the page, because the page's policy would forbid that.
  await page.evaluate(`${axe.source}; undefined`);
  return page.evaluate(async () => {
    // The rule is off by default, because it is new.
    const rules = { "label-content-name-mismatch": { enabled: true } };
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"], rules });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`));
  });
}
