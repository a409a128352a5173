import * as Turbo from "@hotwired/turbo";
import "oncekey/auto";

document.addEventListener("oncekey:settled", ({ target, detail }) => {
  if (detail.state === "succeeded") Turbo.visit(target.dataset.thanks);
});
