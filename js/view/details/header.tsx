/** The title of the details, and the button that closes them. */

import type { ComponentChildren } from "preact";
import type { Store } from "../../state/store";
import { ScopedText } from "../../ui/scoped_text";

/** Letters of a title that may have more lines than are shown. */
const LONG = 150;

export function PanelHeader({
  store,
  title,
  children,
}: {
  store: Store;
  title: string;
  children?: ComponentChildren;
}) {
  return (
    <>
      <header>
        <h2 tabIndex={-1} title={title.length > LONG ? title : undefined}>
          <ScopedText text={title} />
        </h2>
        <button
          type="button"
          class="close"
          aria-label="Close the details"
          onClick={() => {
            if (store.selection || store.moment) store.select(null);
            else store.setPanel({ panelOpen: false });
          }}
        >
          ×
        </button>
      </header>
      {children}
    </>
  );
}
