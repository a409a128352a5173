// A plain form: the browser posts it and shows the response. The package puts the key into a hidden field.

import { createClient, guardForm } from "oncekey";
import { MESSAGES, NOTICES, wordsFor } from "./buyer.js";
import { keptOrMade, randomHex, stored } from "./store.js";

const form = document.querySelector("#order");
const number = stored("plain-order");

// Whose key it is: a form can carry no header of its own, so a cookie has to say.
const visitor = keptOrMade(stored("visitor"), () => randomHex(12));
document.cookie = `shop_visitor=${visitor}; path=/; max-age=31536000; SameSite=Strict`;

const client = createClient({ keyUrl: "/_oncekey/key" });
await client.ready;
const intentName = () => `plain:${form.elements.out_trade_no.value}`;

function say(words) {
  form.querySelector("[data-oncekey-status]").textContent = words;
}

function useNumber() {
  form.elements.out_trade_no.value = `plain-${keptOrMade(number, () => randomHex(6))}`;
}

useNumber();
guardForm(form, {
  client,
  intent: intentName,
  send: "navigate",
  messages: MESSAGES,
  onError(error) {
    const words = wordsFor(error);
    if (words) say(words);
  },
});

document.querySelector("#new-order").addEventListener("click", async () => {
  // What the browser has sent by itself is known to the gateway alone.
  const { state } = await client.intent(intentName()).resolve();
  if (state === "sending" || state === "unknown") return say(NOTICES.notYet);
  number.remove();
  useNumber();
  say(NOTICES.newOrder);
});
