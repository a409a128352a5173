// The messages for the buyer.

const TWICE = "nothing will be charged twice";

/** While a payment is under way, and at its end; the guard says them. */
export const MESSAGES = {
  busy: "We are sending your payment.",
  retry: "We are checking your payment. Nothing will be charged twice.",
  inprogress: "Your payment is under way already, perhaps in another tab. Nothing will be charged twice.",
  succeeded: "Your payment was accepted. We are waiting for the event that says it is paid.",
  refused: "The payment was refused, and nothing was charged. You can try again.",
  unknown: `We do not know yet whether you were charged. Press Find out or Pay: ${TWICE}.`,
};

/** By the state that a look-up found. */
export const FOUND = {
  idle: "Nothing has been sent yet.",
  prepared: "Nothing was charged. You can pay.",
  sending: "Your payment is under way. Nothing will be charged twice.",
  unknown: `Nobody knows yet whether you were charged. Ask again in a while, or give the payment up: ${TWICE}.`,
  succeeded: "We found out: the payment was accepted, once. We are waiting for its event.",
  refused: "We found out: the payment was refused, and nothing was charged.",
  voided: "We found out: nothing was charged, and the old attempt cannot charge any more. You can pay.",
};

export const NOTICES = {
  asking: "We are asking. Nothing is charged by that.",
  askingAlready: "We are checking your payment already. Nothing will be charged twice.",
  notYet: "Not yet: we do not know what became of this payment. Find that out, or give it up, first.",
  newOrder: "A new order, with a number of its own.",
  open: `A payment for this basket was sent, and we do not know how it ended. Press Find out or Pay: ${TWICE}.`,
  paid: "Paid. Thank you, your seeds are on their way.",
  paidOnce: "We found out: you have paid, once.",
  paidBefore: "Paid, as the event says. Press Pay to see the response once more, or New order to begin another.",
  paidUnderWay: "The event says that it is paid. The response is still on its way.",
  paidUnchanged:
    "You changed the basket or the card, but the event says that it is paid as it was. The response is still missing; " +
    "press Find out.",
  paidByEvent:
    "The event says that it is paid. The response is still missing; press Find out or Pay: nothing is charged twice.",
};

/** The words for a refusal. */
export function wordsForRefusal({ type, code, message }) {
  if (type === "card_error") return "The card was declined, and nothing was charged. You can take another one.";
  if (code === "order_already_paid") return "This order is paid already; nothing was charged again.";
  return `The payment was refused, and nothing was charged: ${message}`;
}

/** The words for an error, or undefined if the guard shows its own message. */
export function wordsFor({ name, outcome, message }) {
  switch (name) {
    case "OutcomeUnknownError":
      return undefined;
    case "OrderError":
      return message;
    case "PayloadChangedError":
      return outcome === "succeeded"
        ? "You have paid already, before you changed the basket or the card. Press New order to buy more."
        : "You changed the basket or the card, and we do not know whether you were charged before. Press Find out first.";
    case "ResponseGoneError":
      return "Your payment was accepted. The shop has no copy of the response any more.";
    case "KeyVoidedError":
      return "The payment was voided, and nothing was charged. Press Pay again.";
    default:
      return `That went wrong: ${message}`;
  }
}
