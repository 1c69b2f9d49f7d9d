/**
 * Short names for tasks, devices and lanes, as people say them. tfvis_nb/core/labels.py gives the same;
 * tests/data/conformance has the cases that both must pass.
 */

import type { Lane } from "../types";

/** The fields that name a lane. */
type Called = Pick<Lane, "task" | "device" | "lane">;

/** Stands for a missing op type, such as that of kernels that no op launched. */
export const NO_OP = "(no op)";
export const NO_NAME = "(no name)";

const TASK = /^\/job:([^/]+)(?:\/replica:(\d+))?\/task:(\d+)/;

/** "/job:worker/replica:0/task:1" is "worker 1"; a local or unknown task is "". */
export function taskLabel(task: string): string {
  const match = TASK.exec(task);
  if (match === null) return task;
  const [, job, replica, number] = match;
  if (job === "localhost") return "";
  return replica === undefined || replica === "0"
    ? `${job} ${number}`
    : `${job} ${number} replica ${replica}`;
}

/** "/job:worker/replica:0/task:1/device:GPU:0" is "GPU:0"; anything else loses only its task. */
export function deviceLabel(device: string): string {
  const rest = device.replace(TASK, "");
  const match = /^\/?device:([^/]+)$/.exec(rest);
  return match !== null ? match[1] : rest.replace(/^\//, "");
}

/** "memcpy H2D" is "copy H2D", "recv" is "receive", "stream:13" is "stream 13". */
export function laneName(lane: string): string {
  if (lane.startsWith("memcpy ")) return `copy ${lane.slice("memcpy ".length)}`;
  if (lane.startsWith("stream:")) return `stream ${lane.slice("stream:".length)}`;
  return lane === "recv" ? "receive" : lane;
}

/** "worker 1 · GPU:0", or what of it is known. */
export function locationLabel(task: string, device: string): string {
  return [taskLabel(task), deviceLabel(device)].filter((part) => part !== "").join(" · ");
}

/** "worker 1 · GPU:0 · copy H2D", or what of it is known. */
export function laneLabel({ task, device, lane }: Called): string {
  return [locationLabel(task, device), laneName(lane)].filter((part) => part !== "").join(" · ");
}

/** "/job:worker/replica:0/task:1/device:GPU:0" is "worker 1 · GPU:0". */
export function deviceLocation(device: string): string {
  return locationLabel(TASK.exec(device)?.[0] ?? "", device);
}

/** Where some lanes are: the lane, device or task that they have in common, the smallest of these; "" without one. */
export function commonLocation(lanes: readonly Called[]): string {
  const [first, ...others] = lanes;
  const isSame = (part: keyof Called) => others.every((lane) => lane[part] === first[part]);
  if (!first || !isSame("task")) return "";
  if (!isSame("device")) return taskLabel(first.task);
  return isSame("lane") ? laneLabel(first) : locationLabel(first.task, first.device);
}

/** All that a lane is called, in full and short spelling and lower case, to look for words in. */
export function laneSearchText({ task, device, lane }: Called): string {
  return [task, device, lane, taskLabel(task), deviceLabel(device), laneName(lane)].join(" ").toLowerCase();
}

/**
 * Whether a lane is called by all `words` (lower case). A number is one only as a word of the short spelling:
 * in "/job:worker/replica:0/task:1" the 0 does not mean worker 0.
 */
export function matchesLane(lane: Called, words: readonly string[]): boolean {
  const { task, device, lane: name } = lane;
  const short = [taskLabel(task), deviceLabel(device), laneName(name)].join(" ").toLowerCase().split(" ");
  return words.every((word) =>
    /^\d+$/.test(word) ? short.includes(word) : laneSearchText(lane).includes(word),
  );
}
