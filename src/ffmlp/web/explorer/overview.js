/* The head of the page: cards and alerts. */

import { make, part } from "./dom.js";

/** Show title, text, cards and alerts. */
export function showOverview(data) {
  part("title").textContent = data.title;
  part("introduction").append(...data.text.map((text) => make("p", {}, text)));
  part("cards").append(
    ...data.cards.map(({ name, value, note }) =>
      make(
        "div",
        { class: "card" },
        make("dt", {}, name),
        make("dd", { class: "value" }, value),
        make("dd", { class: "note" }, note),
      ),
    ),
  );
  part("alerts").append(...data.alerts.map((text) => make("li", {}, text)));
  part("alerts").hidden = !data.alerts.length;
}

/** Links to the parts of the page that are shown. */
export function showContents() {
  for (const section of document.querySelectorAll("main section[id]:not([hidden])")) {
    const heading = section.querySelector("h2");
    if (heading) {
      part("contents").append(make("a", { href: `#${section.id}` }, heading.textContent));
    }
  }
}
