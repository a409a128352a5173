"use client";

import { createClient } from "oncekey";
import { useFormGuard, useIntentStatus } from "oncekey/react";

// A server that renders the form has no base for a relative URL, and makes no key calls.
const client = createClient({ keyUrl: typeof document === "undefined" ? null : "/_oncekey/key" });

export function CheckoutForm({ order }: { order: string }) {
  const intent = `order:${order}`;
  const { state } = useIntentStatus(client, intent);
  const guard = useFormGuard({
    client,
    intent,
    onResponse: (response) => {
      if (response.ok) location.assign("/thanks");
    },
  });
  return (
    <form ref={guard} method="post" action="/v1/orders">
      <input type="hidden" name="out_trade_no" value={order} />
      <button data-oncekey-busy="Paying …">Pay</button>
      {state === "unknown" && <p>We are checking your payment. Nothing will be charged twice.</p>}
    </form>
  );
}
