/** Links to views of a page that has an address of its own. */

import { linkTo, viewIn } from "../model/view_link";
import type { Store } from "./store";
import { savedView, showSaved } from "./view";

/** Why there are no links here; empty where there are. */
export function whyNoLink({ host }: Store): string {
  // A notebook's frame has no address, and a notebook's own leads to no widget.
  const isPage = OWNS_PAGE && /^(file|https?):/.test(location.href) && host.exports.includes("html");
  return isPage && !host.pair
    ? ""
    : "Links lead to exported pages: export this one, open it and copy the link there";
}

/** Show the view that the address names, now and whenever it names another one. */
export function followLinks(store: Store, hint: (text: string) => void): void {
  if (whyNoLink(store)) return;
  const follow = () => {
    const view = viewIn(location.hash);
    if (view) showSaved(store, view);
    else if (view === null) hint("The link is damaged: the view that it leads to cannot be read");
  };
  follow();
  addEventListener("hashchange", follow, { signal: store.signal });
}

/** Give the page the address of the present view, and return it. */
export function addressOfView(store: Store): string {
  location.replace(linkTo(savedView(store)));
  return location.href;
}
