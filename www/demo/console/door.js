// Signing in and out.
//
// The token is kept in the memory of this page and nowhere else. A gateway in front of an API shares its origin with
// whatever that API serves, and what is in a browser's storage can be read by every page of the origin. So a reload
// asks for the token again; a password manager can have it ready.

import { Api, NotAllowed } from "./api.js";
import { byId, say } from "./dom.js";

export class Door {
  #form = byId("sign-in");
  #token = byId("token");
  #problem = byId("sign-in-problem");
  #isAsking = false;

  /** `enter`: called with an `Api` once its token was accepted. */
  constructor(enter) {
    this.#form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (this.#isAsking) return;
      this.#isAsking = true;
      this.#say("");
      const problem = await this.#try(enter);
      this.#isAsking = false;
      if (problem) this.#say(problem);
    });
  }

  /** Asks for the token, and says why. */
  close(words = "") {
    document.body.dataset.view = "door";
    this.#token.value = "";
    this.#say(words);
    this.#token.focus();
  }

  async #try(enter) {
    const token = this.#token.value.trim();
    // A header cannot carry anything else, so nothing else can be the token.
    if (!/^[\x21-\x7e]+$/.test(token)) return token ? WRONG : "Type the token first.";
    const api = new Api(token);
    try {
      await api.check();
    } catch (error) {
      return wordsFor(error);
    }
    this.#token.value = "";
    enter(api);
    return undefined;
  }

  #say(words) {
    say(this.#problem, words);
    this.#token.toggleAttribute("aria-invalid", words !== "");
    if (words) this.#token.focus();
  }
}

const WRONG = "This is not the gateway’s ADMIN_TOKEN.";

function wordsFor(error) {
  if (error instanceof NotAllowed) return WRONG;
  if (error.status === 404) return "This gateway has no ADMIN_TOKEN, so there is nothing to sign in to.";
  if (error.status) return error.message;
  return "There was no response. Is the gateway running, and can this browser reach it?";
}
