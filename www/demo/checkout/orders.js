// The orders of a basket. An order is made before it is paid, under an intent and a number of its own: another basket
// is another order, and the same one is found again.

/** The order could not be made or found. No payment was sent. */
export class OrderError extends Error {
  name = "OrderError";
}

export class Orders {
  #client;
  #journal;
  #apiKey;

  constructor(client, journal, apiKey) {
    this.#client = client;
    this.#journal = journal;
    this.#apiKey = apiKey;
  }

  /** The ids of those that this basket has had, in every tab; the journal keeps them. */
  get ids() {
    return [...new Set(this.#journal.events.flatMap(({ what, order }) => (what === "ordered" ? [order] : [])))];
  }

  /** The id of the order with this content: {amount, currency, subject}. */
  async sure(basket, content) {
    const mark = digest(JSON.stringify(content));
    const order = { out_trade_no: `demo-${basket}-${mark}`, ...content };
    const intent = `demo-order:${basket}:${mark}`;
    let found;
    try {
      found = await this.#made(intent, order);
    } catch (error) {
      // The response may be gone although the order exists.
      found = await this.#known(order.out_trade_no).catch(() => {});
      if (!found) throw new OrderError(`The order could not be made, so nothing was sent to pay it. (${error.message})`);
    }
    if (!this.ids.includes(found.id)) this.#journal.add("ordered", { order: found.id, intent, amount: found.amount });
    return found.id;
  }

  /** The basket is done with; its orders stay with the shop. */
  forget() {
    for (const { what, intent } of this.#journal.events) if (what === "ordered") this.#client.intent(intent).forget();
  }

  async #made(intent, order) {
    const response = await this.#client.fetch(intent, "/v1/orders", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Api-Key": this.#apiKey },
      body: JSON.stringify(order),
    });
    const { data, message } = await response.json();
    if (!response.ok) throw new Error(message);
    return data;
  }

  async #known(number) {
    const headers = { "X-Api-Key": this.#apiKey };
    const response = await fetch(`/v1/orders?out_trade_no=${encodeURIComponent(number)}`, { headers });
    return response.ok ? (await response.json()).data : undefined;
  }
}

/** Tells the contents of one basket apart (FNV-1a). Two that fell together would be refused, not mixed up. */
function digest(text) {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}
