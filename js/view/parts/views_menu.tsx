/** Views that people have named, to go back to; a form to name the present one; a link to it. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { MOST_NAME } from "../../model/annotations";
import { isolated } from "../../model/format/bidi";
import { MOST_VIEWS, type NamedView } from "../../model/view";
import type { Store } from "../../state/store";
import { nameView, setViews, showSaved } from "../../state/view";
import { whyNoLink } from "../../state/view_link";
import { Popover } from "../../ui/popover";

interface ViewsProps {
  store: Store;
  actions: Actions;
}

export function ViewsMenu({ store, actions }: ViewsProps) {
  return (
    <Popover text="Views" title="Named views (V)" kind="dialog" name="Views">
      {(close) => (
        <Views
          {...{ store, actions }}
          close={() => {
            close();
            actions.focusLanes();
          }}
        />
      )}
    </Popover>
  );
}

function Views({ store, actions, close }: ViewsProps & { close: () => void }) {
  const [name, setName] = useState("");
  const [deleted, setDeleted] = useState<{ name: string; before: readonly NamedView[] } | null>(null);
  const undo = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => undo.current?.focus(), [deleted]);
  const views = store.host.get("views");
  const save = () => {
    if (!name.trim()) return;
    const done = nameView(store, name.trim());
    // Exported pages can only be exported again.
    const more = store.host.exports.length === 1 ? ": export the page to keep it" : "";
    actions.surroundings.hint(
      done ? `View ${done}${more}` : `There are ${MOST_VIEWS} views already: delete one first`,
    );
    close();
  };
  return (
    <>
      <form
        class="view-name"
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
        onKeyDown={(event) => {
          // JupyterLab keeps Enter from sending a form.
          if (event.key !== "Enter") return;
          save();
          event.preventDefault();
        }}
      >
        <input
          class="field"
          aria-label="Name of this view"
          placeholder="Name of this view"
          value={name}
          maxLength={MOST_NAME}
          autocomplete="off"
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button type="submit" disabled={!name.trim()}>
          Save
        </button>
      </form>
      {views.length > 0 && (
        <ul class="views">
          {views.map((view) => (
            <li key={view.name}>
              <button
                type="button"
                class="link"
                onClick={() => {
                  close();
                  showSaved(store, view);
                }}
              >
                <b>{isolated(view.name)}</b>
              </button>
              <button
                type="button"
                class="edit"
                aria-label={`Delete the view ${isolated(view.name)}`}
                onClick={() => {
                  setViews(
                    store,
                    views.filter((each) => each !== view),
                  );
                  setDeleted({ name: view.name, before: views });
                  // It may say how to keep this view.
                  actions.surroundings.hint("");
                }}
              >
                Delete
              </button>
            </li>
          ))}
        </ul>
      )}
      {deleted && (
        <div class="deleted-view" role="group" aria-label={`Deleted view ${isolated(deleted.name)}`}>
          <span>Deleted: {isolated(deleted.name)}</span>
          <button
            type="button"
            ref={undo}
            onClick={() => {
              setViews(store, deleted.before);
              close();
            }}
          >
            Undo
          </button>
        </div>
      )}
      {!whyNoLink(store) && (
        <button
          type="button"
          onClick={() => {
            close();
            actions.copyLink();
          }}
        >
          Copy link to this view
        </button>
      )}
    </>
  );
}
