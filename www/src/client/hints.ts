// The hints of an OutcomeUnknownError: what is likely wrong, for the developer of the page.

import type { Prepared } from "./request.js";

/** Returns what the developer should check first; undefined if the reason suggests nothing. */
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

/** Returns the hint for a response without proof: it is from another sender, or the page cannot read its headers. */
function proofHint(status: number, isSuccess: boolean): string {
  return isSuccess
    ? 'The response has no "Idempotency-State". A service worker or a proxy may have returned it. Otherwise name the header in Access-Control-Expose-Headers.'
    : `The ${status} may be about this attempt only, while an earlier one was executed. If this server returns ${status} for the key itself, name it in the client's "finalStatuses".`;
}

/** Returns the hint for a network error: to a page, a CORS error looks like a server that is down. */
function corsHint({ url, keyHeader }: Prepared): string | undefined {
  const here = globalThis.location?.origin;
  if (!here || here === url.origin) return undefined;
  return `If ${url.origin} is up, add "${keyHeader}" to its Access-Control-Allow-Headers and ${here} to its Access-Control-Allow-Origin.`;
}
