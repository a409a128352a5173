// What a million requests cost by Cloudflare's list prices, from counts and CPU times. What is included in the plan
// each month is not subtracted.

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
 * Dollars for a million requests that each take so many of each; `cpu` is in microseconds. The time for which objects
 * are awake is not in it: it is shared by all requests of an object (docs/scale.md).
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

/** What a first request costs until its record has expired. */
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
