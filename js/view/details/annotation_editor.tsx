/** The form for the name and the comment of an annotation. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { isUndo } from "../../input/keyboard";
import { type Annotation, MOST_ANNOTATIONS, MOST_NAME, MOST_TEXT } from "../../model/annotations";
import { isolated } from "../../model/format/bidi";
import { keepAnnotation, removeAnnotation } from "../../state/annotations";
import type { Store } from "../../state/store";
import { annotationPlace } from "./annotation_list";

export function AnnotationEditor({ store, actions }: { store: Store; actions: Actions }) {
  const draft = store.draft!;
  const [name, setName] = useState(draft.name);
  const [text, setText] = useState(draft.text);
  const [isDeleted, setDeleted] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  // At once: the next keys are meant for it, and would otherwise act on the lanes.
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.scrollIntoView({ block: "nearest" });
  }, []);
  const all = store.host.get("annotations");
  const isKept = all.some(({ id }) => id === draft.id);
  const isFull = !isKept && all.length >= MOST_ANNOTATIONS;
  const close = () => {
    store.setPanel({ draft: null });
    actions.focusLanes();
  };
  const keep = () => {
    if (!name.trim() || isFull) return;
    keepAnnotation(store, { ...draft, name: name.trim(), text: text.trim() });
    close();
  };
  if (isDeleted) return <Deleted store={store} annotation={draft} close={close} />;
  return (
    <form
      class="annotation-editor"
      aria-label={isKept ? "Edit annotation" : "New annotation"}
      onSubmit={(event) => {
        event.preventDefault();
        keep();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") close();
        // JupyterLab keeps Enter from sending a form.
        else if (event.key === "Enter" && (event.target === field.current || event.ctrlKey || event.metaKey))
          keep();
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <h2>{isKept ? "Edit annotation" : "New annotation"}</h2>
      <p class="unlinked">{annotationPlace(store, draft)}</p>
      {isFull && (
        <p class="unlinked">There are {MOST_ANNOTATIONS} annotations already, the most a trace can have.</p>
      )}
      <label>
        Name
        <input
          ref={field}
          class="field"
          value={name}
          maxLength={MOST_NAME}
          autocomplete="off"
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      <label>
        Comment
        <textarea
          class="field"
          rows={3}
          placeholder="Ctrl Enter saves"
          value={text}
          maxLength={MOST_TEXT}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <div class="buttons">
        <button type="submit" class="primary" disabled={!name.trim() || isFull}>
          Save
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
        {isKept && (
          <button
            type="button"
            class="remove"
            onClick={() => {
              setDeleted(true);
              removeAnnotation(store, draft.id);
            }}
          >
            Delete
          </button>
        )}
      </div>
    </form>
  );
}

/** In place of the form until something else is selected. */
function Deleted({ store, annotation, close }: { store: Store; annotation: Annotation; close: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    button.current?.focus();
    const shown = new AbortController();
    store.on(["selection"], () => store.setPanel({ draft: null }), shown.signal);
    return () => shown.abort();
  }, []);
  const undo = () => {
    keepAnnotation(store, annotation);
    close();
  };
  return (
    <div
      class="annotation-editor"
      role="group"
      aria-label="Deleted annotation"
      onKeyDown={(event) => {
        if (event.key === "Escape") close();
        else if (isUndo(event)) undo();
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <p role="status">Deleted: {isolated(annotation.name)}</p>
      <div class="buttons">
        <button type="button" ref={button} class="primary" onClick={undo}>
          Undo
        </button>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </div>
  );
}
