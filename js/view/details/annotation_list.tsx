/** Annotations as a list: each can be gone to and edited. */

import { useState } from "preact/hooks";
import type { Actions } from "../../input/actions";
import type { Annotation } from "../../model/annotations";
import { isolated } from "../../model/format/bidi";
import { formatDuration, formatTime, unbroken } from "../../model/format/units";
import { commonLocation } from "../../model/lanes/labels";
import type { Store } from "../../state/store";

/** Longer lists are cut here until the user asks for the rest. */
const FIRST = 30;

interface ListProps {
  store: Store;
  actions: Actions;
  annotations: readonly Annotation[];
}

export function AnnotationList({ store, actions, annotations }: ListProps) {
  const [all, setAll] = useState(false);
  if (!annotations.length) return null;
  const shown = all ? annotations : annotations.slice(0, FIRST);
  return (
    <section class="annotations" aria-label="Annotations" tabIndex={-1}>
      <h3>Annotations{annotations.length > 1 ? ` (${annotations.length})` : ""}</h3>
      <ul>
        {shown.map((annotation) => (
          <li key={annotation.id}>
            <button type="button" class="link" onClick={() => actions.visitAnnotation(annotation)}>
              <b>{isolated(annotation.name)}</b> <small>{annotationPlace(store, annotation)}</small>
            </button>
            <button
              type="button"
              class="edit"
              aria-label={`Edit the annotation ${isolated(annotation.name)}`}
              onClick={() => store.setPanel({ draft: annotation })}
            >
              Edit
            </button>
            {annotation.text && <p>{isolated(annotation.text)}</p>}
          </li>
        ))}
      </ul>
      {annotations.length > shown.length && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          <b>{annotations.length - shown.length} more</b>
        </button>
      )}
    </section>
  );
}

export function AnnotateButton({ actions }: { actions: Actions }) {
  return (
    <button
      type="button"
      class="graph-button"
      title="Name and comment it (N)"
      onClick={() => actions.annotate()}
    >
      Annotate
    </button>
  );
}

/** When it is, how long, and on what. */
export function annotationPlace(store: Store, annotation: Annotation): string {
  const { kind, start, end, lanes, event_name: name } = annotation;
  const where = lanes ? commonLocation(lanes.map((lane) => store.run.lanes[lane]).filter(Boolean)) : "";
  const parts = [
    name && isolated(name.slice(name.lastIndexOf("/") + 1)),
    formatTime(start, store.run.span / 1e4),
    end > start && formatDuration(end - start),
    kind === "event" && annotation.event === null && "not in this trace",
    where && isolated(where),
  ];
  return parts
    .filter((part) => typeof part === "string" && part !== "")
    .map((part) => unbroken(part as string))
    .join(" · ");
}
