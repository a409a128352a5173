// Calculates what a million requests cost by Cloudflare's list prices, from counts and CPU times. The amounts that the
// plan includes each month are not subtracted.

/** US dollars for a million, Workers Paid plan. */
export const PRICES = {
  // https://developers.cloudflare.com/workers/platform/pricing/
  request: 0.3,
  cpuMillisecond: 0.02,
  // https://developers.cloudflare.com/durable-objects/platform/pricing/: an alarm that rings is a request, and one
  // that is set is a row written; a deleted row is a row written.
  objectRequest: 0.15,
  rowWritten: 1,
  rowRead: 0.001,
  // https://developers.cloudflare.com/kv/platform/pricing/
  kvWrite: 5,
};

/**
 * Returns dollars for a million requests, from the counts of one request; `cpu` is in microseconds. The time for which
 * objects are awake is not included, because all requests of an object share it (docs/scale.md).
 */
export function price({ objectCalls, rowsWritten, rowsRead, alarmsSet = 0, alarms = 0, cpu, kvWrites = 0 }) {
  return (
    PRICES.request +
    PRICES.cpuMillisecond * (cpu / 1000) +
    PRICES.objectRequest * (objectCalls + alarms) +
    PRICES.rowWritten * (rowsWritten + alarmsSet) +
    PRICES.rowRead * rowsRead +
    PRICES.kvWrite * kvWrites
  );
}

/** Returns what a first request costs until its record has expired. */
export const priceOfFirst = ({ first, expiry }, cpu, kvWrites = 0) =>
  price({
    objectCalls: first.objectCalls,
    rowsWritten: first.rowsWritten + expiry.rowsWritten,
    rowsRead: first.rowsRead + expiry.rowsRead,
    alarmsSet: first.alarmsSet + expiry.alarmsSet,
    alarms: expiry.alarms,
    cpu,
    kvWrites,
  });
