/** Exports of the timeline: the picture, the selected rows, and the host's formats. */

import { useRef, useState } from "preact/hooks";
import type { ExportFormat } from "../../host/host";
import { eventsCsv } from "../../model/format/events_csv";
import { pixelsOf, whyNoWidth } from "../../model/format/lengths";
import { eventsIn } from "../../model/search/range_statistics";
import type { Store } from "../../state/store";
import { save } from "../../ui/download";
import { Popover } from "../../ui/popover";
import { type Pictured, pictureOf } from "../canvas/picture";

interface ExportMenuProps {
  store: Store;
  root: HTMLElement;
  /** The content of a picture, if more than this timeline, and the sentence above. */
  pictured?: () => { timelines: readonly Pictured[]; headline: string };
}

/** The last typed text, for all timelines of the page. */
let pictureWidth = "";

export function ExportMenu({ store, root, pictured }: ExportMenuProps) {
  const [width, setWidth] = useState(pictureWidth);
  const field = useRef<HTMLInputElement>(null);
  const name = (store.drawn.title || "trace").replace(/[^\w.-]+/g, "_");
  const made = (format: ExportFormat) => async () => {
    const file = await store.host.export(format, store.signal);
    save(file.name, new Blob([file.bytes as BlobPart]));
  };
  // Items are made when the menu opens: more is known then than at the first render.
  const items = () => {
    const { timelines, headline } = pictured?.() ?? { timelines: [{ root, store }], headline: "" };
    const picture = (form: "png" | "svg") => async () =>
      save(`${name}.${form}`, await pictureOf(timelines, form, pixelsOf(width), headline));
    const all: [label: string, suffix: string, run: () => Promise<void>][] = [
      ["Picture of this view", ".png", picture("png")],
      ["Picture as vectors", ".svg", picture("svg")],
      // Only the host has all rows if the browser holds parts of a trace.
      [
        "Rows of the selection",
        ".csv",
        HAS_KERNEL && store.run.rest ? made("csv") : async () => save(`${name}.csv`, selectedRows(store)),
      ],
    ];
    if (store.host.exports.includes("html")) all.push(["Offline page", ".html", made("html")]);
    if (store.host.exports.includes("json")) all.push(["Chrome trace", ".json", made("json")]);
    return all;
  };
  const run = (suffix: string, action: () => Promise<void>, close: () => void) => {
    // The browser shows the fault at the field, and focuses it.
    field.current?.setCustomValidity([".png", ".svg"].includes(suffix) ? whyNoWidth(width) : "");
    if (!field.current?.reportValidity()) return;
    close();
    action().catch((error: unknown) => {
      const failure = `Export failed: ${error instanceof Error ? error.message : error}`;
      store.fail(failure);
      const next = new AbortController();
      const forget = () => {
        next.abort();
        if (store.failure === failure) store.fail(null);
      };
      const options = { capture: true, signal: AbortSignal.any([next.signal, store.signal]) };
      for (const kind of ["pointerdown", "keydown"]) root.addEventListener(kind, forget, options);
    });
  };
  return (
    <Popover
      text="Export"
      kind="menu"
      name="Export"
      below={
        <label class="picture-width">
          Width of pictures
          <input
            class="field"
            ref={field}
            placeholder="e.g. 16 cm"
            title="Such as 16 cm, 6.3 in or 600 px; empty: as on the screen"
            value={width}
            onInput={({ currentTarget }) => {
              pictureWidth = currentTarget.value;
              setWidth(pictureWidth);
              field.current?.setCustomValidity("");
            }}
          />
        </label>
      }
    >
      {(close) =>
        items().map(([label, suffix, action]) => (
          <button
            key={label}
            type="button"
            role="menuitem"
            disabled={suffix === ".csv" && !store.selection}
            onClick={() => run(suffix, action, close)}
          >
            {label} <small>{suffix}</small>
          </button>
        ))
      }
    </Popover>
  );
}

function selectedRows({ selection, drawn, run, details }: Store): Blob {
  if (!selection) throw new Error("nothing is selected");
  const ids = "events" in selection ? selection.events : eventsIn(drawn, selection);
  return new Blob([eventsCsv(run, details, ids)], { type: "text/csv" });
}
