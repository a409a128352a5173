// What is likely wrong when an outcome is unknown, in words for the developer of the page.

import type { Prepared } from "./request.js";

/** Returns what to check first, if the reason suggests something. */
export function hintFor(
  unknownReason: string | undefined,
  prepared: Prepared,
  response: Response | undefined,
  isSuccess: (status: number) => boolean,
): string | undefined {
  switch (unknownReason) {
    case "network":
      return corsHint(prepared);
    case "no_proof":
      return response && proofHint(response.status, isSuccess(response.status));
    case "redirected":
      return "The response came after a redirect and does not prove that it belongs to this request.";
    case "not_the_api": {
      const type = response?.headers.get("content-type") ?? "of no media type";
      return `The response was ${type}. If the API returns this type, name it in the intent's option "expects".`;
    }
    default:
      return undefined;
  }
}

/** The response may come from another sender, or from the server whose headers cannot be read. */
function proofHint(status: number, isSuccess: boolean): string {
  return isSuccess
    ? 'The response has no "Idempotency-State". A service worker or a proxy may have returned it. Otherwise name the header in Access-Control-Expose-Headers.'
    : `The ${status} may be about this attempt only, while an earlier one was executed. If this server returns ${status} for the key itself, name it in the client's "finalStatuses".`;
}

/** To a page, a header that CORS does not allow looks exactly like a dead server. */
function corsHint({ url }: Prepared): string | undefined {
  const here = globalThis.location?.origin;
  if (!here || here === url.origin) return undefined;
  return `If ${url.origin} is up, add "Idempotency-Key" to its Access-Control-Allow-Headers and ${here} to its Access-Control-Allow-Origin.`;
}
