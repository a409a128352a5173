// The checkout page: a form that the package guards, and beside it what really happens.

import { createClient, guardForm } from "oncekey";
import { Basket, money } from "./basket.js";
import { FOUND, MESSAGES, NOTICES, wordsFor, wordsForRefusal } from "./buyer.js";
import { Charges } from "./charges.js";
import { Journal } from "./journal.js";
import { Line } from "./line.js";
import { keepLog } from "./log.js";
import { Orders } from "./orders.js";
import { PaidEvent } from "./paid.js";
import { record } from "./recorder.js";
import { keptOrMade, randomHex, stored } from "./store.js";
import { Timeline } from "./timeline.js";
import { shortKey, stateWord } from "./words.js";

const find = (selector) => document.querySelector(selector);
const form = find("#checkout");
const payButtons = document.querySelectorAll(".pay");
const status = find("[data-oncekey-status]");
const receipt = find(".receipt");

// Each visitor is a merchant of their own.
const apiKey = keptOrMade(stored("api-key"), () => `sandbox_demo_${randomHex(12)}`);
const basket = new Basket(find(".basket"));
const journal = new Journal(basket.id);
const intentName = () => `demo:${basket.id}`;
const line = new Line(journal, () => find("[name=trouble]:checked").value);

const client = createClient({
  keyUrl: "/_oncekey/key",
  headers: () => ({ "X-Api-Key": apiKey }),
  fetch: line.fetch,
  // Steady waits that eyes can follow. A real shop leaves the default, which spreads them.
  retry: { limit: 3, delays: [1500, 2500, 4000], jitter: "none" },
});
client.addEventListener("wasm-fallback", () => {
  find("#engine").textContent = "The rules run as JavaScript: this page's policy forbids WebAssembly.";
});
// Under such a policy the package loads a translation first.
await client.ready;
const noteState = record(client, journal, intentName);
const intent = () => client.intent(intentName());

const orders = new Orders(client, journal, apiKey);
const isOpen = () => ["sending", "unknown"].includes(intent().status().state);
const paid = new PaidEvent({
  journal,
  apiKey,
  orders,
  // A payment that was not sent or was refused has no such event.
  isAwaited: () => isOpen() || intent().status().state === "succeeded",
  arrived() {
    showReceipt();
    if (guard.locked) say(NOTICES.paidUnderWay);
    else say(isOpen() ? NOTICES.paidByEvent : NOTICES.paid);
  },
});
/** What the thank-you box says of the response, if there is one. */
let receivedResponse;

const guard = guardForm(form, {
  client,
  intent: intentName,
  send: "fetch",
  async request(_, data) {
    line.pressed();
    receipt.hidden = true;
    const order_id = await orders.sure(basket.id, {
      amount: basket.amount,
      currency: "EUR",
      subject: `${basket.words} for ${data.get("name")}`,
    });
    return {
      url: "/v1/payments",
      init: {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Api-Key": apiKey },
        body: JSON.stringify({ order_id, card: { number: data.get("card") } }),
      },
    };
  },
  async onResponse(response) {
    if (response.ok) {
      receivedResponse = response.headers.get("Idempotent-Replayed") === "true" ? "the first one, once more" : "the first one";
      // A shop would go to another page and leave the form locked. Here Pay may be pressed again.
      guard.release();
      say(paid.event ? NOTICES.paid : MESSAGES.succeeded);
    } else {
      say(wordsForRefusal(await response.json()));
    }
    showReceipt();
    showAll();
    paid.note();
  },
  onError(error) {
    const words = wordsOf(error);
    if (words) say(words);
    noteState();
    journal.add("said", { words: `The page got an error: ${error.message}` });
    showReceipt();
    showAll();
  },
  messages: MESSAGES,
});

function wordsOf(error) {
  if (!isOpen()) return wordsFor(error);
  if (paid.event) return error.name === "PayloadChangedError" ? NOTICES.paidUnchanged : NOTICES.paidByEvent;
  // The earlier payment is still open, and the guard has already shown its message.
  return error.name === "OrderError" ? undefined : wordsFor(error);
}

function say(words) {
  status.textContent = words;
}

/** Shows the thank-you box once the event has arrived. */
function showReceipt() {
  const { event } = paid;
  receipt.hidden = !event;
  if (!event) return;
  find("[data-receipt=order]").textContent = event.order;
  find("[data-receipt=amount]").textContent = money(event.amount);
  find("[data-receipt=event]").textContent = event.id;
  find("[data-receipt=response]").textContent = receivedResponse ?? "not seen by this page yet";
}

/** Asks about the payment, by something that charges nothing. */
async function ask(question) {
  if (guard.locked) {
    say(NOTICES.askingAlready);
    return;
  }
  say(NOTICES.asking);
  try {
    const found = await question();
    if (paid.event && isOpen()) say(NOTICES.paidByEvent);
    else say(paid.event && found.state === "succeeded" ? NOTICES.paidOnce : (FOUND[found.state] ?? FOUND.unknown));
  } catch (error) {
    say(`We could not ask: ${error.message}`);
  }
  noteState();
  showAll();
}

const findOut = () => ask(() => intent().resolve({ lookup: lookUp }));
const giveUp = () => ask(() => intent().abandon());

/** The shop's own word, where the key's state does not tell: a payment that is there and succeeded is this one. */
async function lookUp() {
  for (const id of orders.ids) {
    const response = await line.fetch(`/v1/payments?order_id=${id}`, { headers: { "X-Api-Key": apiKey } });
    if (!response.ok) continue;
    const { data: payments } = await response.json();
    if (payments.some(({ status }) => status === "succeeded")) return { state: "succeeded", httpStatus: 201 };
  }
  return undefined;
}

async function newOrder() {
  const { state } = intent().status();
  if (guard.locked || state === "sending" || state === "unknown") {
    say(NOTICES.notYet);
    return;
  }
  if (state === "prepared") await intent().abandon();
  intent().forget();
  orders.forget();
  basket.restart();
  say(NOTICES.newOrder);
}

function showAll() {
  const { state, key } = intent().status();
  // Of all tabs.
  const sent = journal.events.filter((event) => event.what === "sent" && event.key === key).length;
  find("#fact-key").textContent = key ? shortKey(key) : "none yet";
  find("#fact-key").title = key ?? "";
  find("#fact-state").textContent = stateWord(state);
  find("#fact-state").className = state;
  find("#fact-sent").textContent = sent ? `${sent} ${sent === 1 ? "time" : "times"}` : "never";
  find("#glance-state").textContent = stateWord(state);
  find("#glance-state").className = state;
  const canAsk = ["prepared", "sending", "unknown"].includes(state);
  for (const button of ["#find-out", "#give-up"]) find(button).setAttribute("aria-disabled", !canAsk);
  // Another tab has received the response.
  if (state === "succeeded" && status.textContent === NOTICES.paidByEvent) say(NOTICES.paidBefore);
  find("[data-amount]").textContent = money(basket.amount);
  if (!guard.locked) for (const button of payButtons) button.textContent = `Pay ${money(basket.amount)}`;
}

function showCharges(sum) {
  for (const place of ["#charges", "#glance-charges"]) find(place).textContent = sum;
  find("#charges-words").textContent = sum === 1 ? "charge that really happened" : "charges that really happened";
}

/** What an earlier load of this page left undone, and what the event says of it. */
function showPending() {
  const left = client.pending().find(({ intent }) => intent === intentName());
  const isDone = intent().status().state === "succeeded";
  if (left && left.state !== "prepared") say(paid.event ? NOTICES.paidByEvent : NOTICES.open);
  else if (isDone) say(paid.event ? NOTICES.paidBefore : MESSAGES.succeeded);
  showReceipt();
}

basket.addEventListener("change", ({ detail }) => {
  if (journal.turnTo(basket.id)) {
    charges.restart();
    receivedResponse = undefined;
    showReceipt();
    noteState();
  } else if (detail.here) {
    journal.add("basket", { amount: basket.amount });
  }
  showAll();
});
journal.addEventListener("change", showAll);
// Enter in a field clicks the button too. What the guard swallows is noted by its event.
for (const button of payButtons) {
  button.addEventListener("click", () => {
    if (!guard.locked && form.checkValidity()) journal.add("press", { amount: basket.amount });
  });
}
find("#reload").addEventListener("click", () => location.reload());
find("#second-tab").addEventListener("click", () => open(location.href, "_blank", "noopener"));
for (const [button, act] of [["#find-out", findOut], ["#give-up", giveUp]]) {
  find(button).addEventListener("click", ({ currentTarget }) => {
    if (currentTarget.getAttribute("aria-disabled") !== "true") act();
  });
}
find("#new-order").addEventListener("click", newOrder);
addEventListener("pagehide", () => journal.add("left"));
addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  journal.add("opened", { again: true });
  showPending();
});

const strict = new URLSearchParams(location.search).get("csp") === "strict";
find("#csp").textContent = strict ? "Under the usual policy" : "Under a policy without wasm";
find("#csp").href = strict ? location.pathname : "?csp=strict";

// On a phone there is a second button at the lower edge, for when the first one is not whole in sight.
const [mainButton, spareButton] = payButtons;
new IntersectionObserver(([{ isIntersecting }]) => (spareButton.hidden = isIntersecting), {
  rootMargin: "0px 0px -60px",
  threshold: 1,
}).observe(mainButton);

new Timeline(find("#timeline"), journal);
keepLog(find("#log"), journal);
const charges = new Charges({ journal, apiKey, orders, changed: showCharges });
const { events } = journal;
if (events.length > 0) journal.add("opened", { again: events.some(({ tab }) => tab === journal.tab) });
showAll();
paid.note();
showPending();
