/** The line of flags between the axis and the lanes, one for each annotation in view; none without annotations. */

import type { Actions } from "../../input/actions";
import { type Annotation, placeFlags } from "../../model/annotations";
import { isolated, withoutControls } from "../../model/format/bidi";
import { formatCount } from "../../model/format/units";
import { entryOfEvent } from "../../model/lod/merged";
import { shownAnnotations } from "../../state/annotations";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { annotationPlace } from "../details/annotation_list";

export function AnnotationCorner({ store, actions }: { store: Store; actions: Actions }) {
  useTopics(store, ["annotations", "layout"]);
  const { length } = shownAnnotations(store);
  if (!length) return null;
  return (
    <div class="corner noted">
      <button type="button" title="List the annotations (Shift N)" onClick={() => actions.listAnnotations()}>
        {formatCount(length)} {length === 1 ? "annotation" : "annotations"}
      </button>
    </div>
  );
}

export function AnnotationFlags({ store, actions }: { store: Store; actions: Actions }) {
  useTopics(store, ["annotations", "viewport", "layout"]);
  const shown = shownAnnotations(store);
  if (!shown.length) return null;
  return (
    <div class="flags" role="list" aria-label="Annotations in view">
      {placeFlags(
        shown.map((each) => drawnTimes(store, each)),
        store.viewport,
        store.width,
      ).map(({ x, room, annotations: [first, ...more] }) => (
        <div role="listitem" key={first.id} style={{ left: `${x}px`, maxWidth: `${room}px` }}>
          <button
            type="button"
            class={more.length ? "count" : ""}
            title={[first, ...more].map((each) => tip(store, each)).join("\n\n")}
            aria-label={[first, ...more].map(({ name }) => isolated(name)).join(", ")}
            onClick={() =>
              more.length ? actions.showAnnotations([first, ...more]) : actions.visitAnnotation(first)
            }
          >
            {more.length ? `${more.length + 1}` : withoutControls(first.name)}
          </button>
        </div>
      ))}
    </div>
  );
}

/** At the times at which its event is drawn. */
function drawnTimes(store: Store, annotation: Annotation): Annotation {
  const id = store.aligned && annotation.event !== null ? entryOfEvent(store.drawn, annotation.event) : null;
  return id === null ? annotation : { ...annotation, start: store.drawn.start[id], end: store.end(id) };
}

function tip(store: Store, annotation: Annotation): string {
  const { name, text } = annotation;
  return [isolated(name), annotationPlace(store, annotation), text && isolated(text)]
    .filter(Boolean)
    .join("\n");
}
