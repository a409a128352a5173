// Why nothing can be decided about a key, in every state but one.

const WORDS = {
  completed:
    "It has its answer, and somebody may have acted on it. An answer never changes, so there is nothing to decide.",
  in_progress:
    "An attempt is under way. Its end will tell what happened; if none comes, the outcome becomes unknown and can be decided here.",
  released: "Surely nothing was executed. The next request with it is executed, so there is nothing to decide.",
  voided: "Its caller gave it up and was promised that nothing will be executed. That is final.",
  expired: "It is refused from now on, whatever happened. There is nothing left to decide.",
};

export const untouchable = (state) =>
  WORDS[state] ?? "There is no record any more. What the journal says about it is all that is left.";
