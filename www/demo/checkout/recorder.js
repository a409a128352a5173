// Notes the package's events in the journal, and the state of the key after each.

export function record(client, journal, intentName) {
  /** Notes the state, where no tab has noted it yet. */
  const note = () => {
    const { key, state } = client.intent(intentName()).status();
    const noted = journal.events.findLast((event) => event.what === "state" && event.key === key);
    if (key && noted?.state !== state) journal.add("state", { key, state });
  };
  const on = (type, add) =>
    client.addEventListener(type, ({ detail }) => {
      // The order has an intent of its own, which is not what is watched here.
      if (detail.intent !== undefined && detail.intent !== intentName()) return;
      add?.(detail);
      note();
    });
  on("attempt");
  on("keyrotated");
  on("retry", ({ after }) => journal.add("wait", { after }));
  on("inprogress", ({ after, elsewhere }) => {
    if (elsewhere) journal.add("elsewhere");
    if (after) journal.add("wait", { after });
  });
  on("replayed");
  on("settled", () => journal.add("settled"));
  on("unknown", ({ reason }) => journal.add("said", { words: `It stopped trying: ${reason.replaceAll("_", " ")}.` }));
  on("blocked", () => journal.add("swallowed"));
  on("storage-degraded", ({ reason }) =>
    journal.add("said", { words: `The key cannot be kept in this browser (${reason}), so a reload would forget it.` }),
  );
  return note;
}
