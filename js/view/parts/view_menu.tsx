/** The menu of how the timeline is drawn: colours, groups, tensors, code, zoom; and of views that people have named. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Options } from "../../host/host";
import type { Actions } from "../../input/actions";
import { MOST_NAME } from "../../model/annotations";
import { isolated } from "../../model/format/bidi";
import { countSteps } from "../../model/lanes/step_bars";
import { MOST_VIEWS, type NamedView } from "../../model/view";
import { whyNoCode } from "../../state/code";
import type { Store } from "../../state/store";
import { whyNoTensors } from "../../state/tensors";
import { useTopics } from "../../state/use_store";
import { nameView, setViews, showSaved } from "../../state/view";
import { whyNoLink } from "../../state/view_link";
import { Popover } from "../../ui/popover";

interface ViewsProps {
  store: Store;
  actions: Actions;
}

interface ViewMenuProps extends ViewsProps {
  /** All that are drawn alike: one timeline, or both of a comparison, which has no named views. */
  stores: readonly Store[];
}

export function ViewMenu({ store, actions, stores }: ViewMenuProps) {
  useTopics(store, ["layout", "panel", "paint", "details"]);
  return (
    <Popover text="View" title="Colours, groups, zoom, named views (V)" kind="dialog" name="View">
      {(close) => {
        const run = (action: () => void) => () => {
          close();
          action();
        };
        return (
          <>
            <Choice
              stores={stores}
              option="color_by"
              title="Colour"
              values={{ kind: "by activity", op: "by op type", device: "by device" }}
            />
            <Choice
              stores={stores}
              option="group_by"
              title="Group lanes"
              values={{ device: "by device", kind: "by kind", none: "in no groups" }}
            />
            <div class="view-buttons">
              <button type="button" title="Show everything (0)" onClick={run(() => actions.whole())}>
                Fit
              </button>
              <button type="button" title="Full screen (Shift F)" onClick={run(() => actions.fullScreen())}>
                Full screen
              </button>
              <AlignButton stores={stores} close={close} />
              <TensorsButton stores={stores} close={close} />
              <CodeButton stores={stores} close={close} />
            </div>
            {stores.length === 1 && (
              <NamedViews
                {...{ store, actions }}
                close={() => {
                  close();
                  actions.focusLanes();
                }}
              />
            )}
          </>
        );
      }}
    </Popover>
  );
}

interface ButtonProps extends Pick<ViewMenuProps, "stores"> {
  close: () => void;
}

/** A trace without records of memory has no such button. */
function TensorsButton({ stores, close }: ButtonProps) {
  if (!stores.some(({ tracks }) => tracks.some(({ starts }) => starts.length > 0))) return null;
  const reason = whyNoTensors(stores[0]);
  return (
    <button
      type="button"
      aria-pressed={stores[0].lanes.tensors}
      disabled={!!reason}
      title={reason || "Tensors in memory: a bar from allocation to free (T)"}
      onClick={() => {
        const shown = !stores[0].lanes.tensors;
        for (const each of stores) each.lanes.showTensors(shown);
        close();
      }}
    >
      Tensors
    </button>
  );
}

function AlignButton({ stores, close }: ButtonProps) {
  const several = stores.filter(({ run }) => !run.rest && countSteps(run.steps) > 1);
  if (several.length === 0) return null;
  const isAligned = several.every(({ aligned }) => aligned);
  return (
    <button
      type="button"
      aria-pressed={isAligned}
      title="Stack all steps, without events outside them"
      onClick={() => {
        for (const store of several) store.setStep(null, !isAligned);
        close();
      }}
    >
      Align steps
    </button>
  );
}

/** A trace without Python stacks has no such button. */
function CodeButton({ stores, close }: ButtonProps) {
  const known = stores.filter((store) => !whyNoCode(store));
  if (known.length === 0) return null;
  const isOpen = stores.some(({ codeOpen }) => codeOpen);
  return (
    <button
      type="button"
      aria-pressed={isOpen}
      title="Code: the time of each line (L)"
      onClick={() => {
        for (const store of known) store.setPanel({ codeOpen: !isOpen, graphOpen: false, codePlace: null });
        close();
      }}
    >
      Code
    </button>
  );
}

function Choice<K extends "color_by" | "group_by">(props: {
  stores: readonly Store[];
  option: K;
  title: string;
  values: Record<Options[K], string>;
}) {
  const { stores, option, title, values } = props;
  return (
    <label class="view-choice">
      {title}
      <select
        value={stores[0].host.get(option)}
        onChange={(event) => {
          for (const store of stores) store.setOption(option, event.currentTarget.value as Options[K]);
        }}
      >
        {(Object.entries(values) as [string, string][]).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Views to go back to, a form to name the present one, a link to it. */
function NamedViews({ store, actions, close }: ViewsProps & { close: () => void }) {
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
          data-first=""
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
