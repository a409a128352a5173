// Why nothing can be decided about a key, in every state but one.

const WORDS = {
  completed:
    "It has its response, and a caller may have acted on it. A response never changes, so there is nothing to decide.",
  in_progress:
    "An attempt is under way. If it ends without a response, the outcome becomes unknown and can be decided here.",
  released: "Nothing was executed. The next request with it is executed, so there is nothing to decide.",
  voided: "Its caller voided it and was promised that nothing will be executed. That is final.",
  expired: "Every request with it is refused, whatever happened before. There is nothing left to decide.",
};

export const untouchable = (state) =>
  WORDS[state] ?? "There is no record any more. Only the journal's rows are left.";
