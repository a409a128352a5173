// Records that one request has left unknown together: a key and its business key. Each waits for a decision of its
// own, and a request that comes with the one meets the other.

const OPEN = ["unknown", "overtook"];

/** Gives the unknown records, but for this one, that a request of this one has left. */
export async function kinOf(api, { key, journal }) {
  const begun = key?.created_at;
  const requests = journal.filter((row) => row.created_at === begun && OPEN.includes(row.kind)).map((row) => row.request_id);
  const last = requests.findLast((id) => id);
  if (!last) return [];
  const { rows } = await api.journal({ requestId: last });
  const hashes = [...new Set(rows.map((row) => row.key))].filter((hash) => hash !== key.key).slice(0, 4);
  const lives = await Promise.all(hashes.map((hash) => api.key(hash)));
  return lives.flatMap((life) => (life?.key?.state === "unknown" ? [life.key] : []));
}
