/** Files made in the browser itself, with or without a kernel: a picture of the view, the selected rows. */

import { withoutControls } from "../model/bidi";
import { eventsIn } from "../model/statistics";
import type { Store } from "./store";
import { nameOf, opOf, placeOf } from "./wording";

/** Offer `content` as a download. */
export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The download has its own hold on the data once it has begun.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Minimap, ruler and lanes as they are on the screen, with the lanes' labels, as a PNG. */
export async function pictureOf(root: HTMLElement): Promise<Blob> {
  const main = root.querySelector<HTMLElement>(".main");
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d");
  if (!main || !pen) throw new Error("there is no picture yet");
  const frame = main.getBoundingClientRect();
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(frame.width * ratio);
  canvas.height = Math.round(frame.height * ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  const style = getComputedStyle(root);
  pen.fillStyle = style.backgroundColor;
  pen.fillRect(0, 0, frame.width, frame.height);
  for (const layer of main.querySelectorAll("canvas")) {
    const box = layer.getBoundingClientRect();
    pen.drawImage(layer, box.left - frame.left, box.top - frame.top, box.width, box.height);
  }
  pen.textBaseline = "middle";
  for (const label of main.querySelectorAll<HTMLElement>(".labels b, .labels .context, .labels .count")) {
    const box = label.getBoundingClientRect();
    const labels = main.querySelector(".labels")?.getBoundingClientRect();
    if (!labels || box.bottom < labels.top || box.top > labels.bottom) continue;
    const own = getComputedStyle(label);
    pen.font = `${own.fontWeight} ${own.fontSize} ${own.fontFamily}`;
    pen.fillStyle = own.color;
    pen.fillText(
      withoutControls(label.textContent ?? ""),
      box.left - frame.left,
      (box.top + box.bottom) / 2 - frame.top,
      box.width,
    );
  }
  return new Promise((resolve, reject) => {
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))),
      "image/png",
    );
  });
}

/** A field of a CSV file; one that a spreadsheet would run as a formula is made text. */
function field(value: string | number | null): string {
  let text = value === null ? "" : String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The selected events as CSV, times in epoch nanoseconds. */
export function selectedRows(store: Store): Blob {
  const { selection, drawn, run, details } = store;
  if (!selection) throw new Error("nothing is selected");
  const ids = "events" in selection ? selection.events : eventsIn(drawn, selection);
  const lines = ["event,step,lane,name,op,start_ns,duration_ns,bytes,source,destination,tensor"];
  for (const id of ids) {
    const row = [
      id,
      run.steps[run.step?.[id] ?? 0]?.step ?? 0,
      placeOf(store, id),
      nameOf(store, id),
      opOf(store, id),
      String(run.originNs + BigInt(Math.round(run.start[id]))),
      drawn.duration[id],
      details?.bytes(id) ?? null,
      details?.source(id) ?? null,
      details?.destination(id) ?? null,
      details?.tensor(id) ?? null,
    ];
    lines.push(row.map(field).join(","));
  }
  return new Blob([lines.join("\n"), "\n"], { type: "text/csv" });
}
