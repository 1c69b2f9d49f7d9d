/**
 * All steps under each other, every one from its own start: the same events on lanes of their own, at other times.
 * Events outside any step have no start to count from, and is mostly far longer than a step: it is left out.
 */
import { type Drawn, type Lane, NO_STEP, type Selection } from "../types";
import { locationLabel } from "./labels";

/** Lanes are numbered in two bytes. */
const MAX_LANES = 0xffff;

export class AlignedSteps {
  /** The events by the same ids, with the steps' lanes as lanes and times from each step's start. */
  readonly drawn: Drawn;
  readonly #run: Drawn;
  /** For each lane here the index of its step and its lane in the run. */
  readonly #stepOf: number[] = [];
  readonly #laneOf: number[] = [];

  constructor(run: Drawn) {
    this.#run = run;
    const step = run.step;
    if (step === null) throw new Error("a single step is aligned already");
    const seen = new Uint32Array(run.steps.length * run.lanes.length);
    const cell = (event: number) => step[event] * run.lanes.length + run.lane[event];
    for (let event = 0; event < run.count; event++) seen[cell(event)]++;
    const numbers = new Uint16Array(seen.length);
    const lanes: Lane[] = [];
    const isOutside = (at: number) => run.steps[at].step === NO_STEP;
    for (const [index, events] of seen.entries()) {
      if (events === 0) continue;
      const at = Math.floor(index / run.lanes.length);
      const lane = run.lanes[index % run.lanes.length];
      numbers[index] = lanes.length;
      const group = { task: stepName(run, at), device: locationLabel(lane.task, lane.device) };
      lanes.push({ ...lane, ...(isOutside(at) ? {} : group), id: lanes.length, events });
      this.#stepOf.push(at);
      this.#laneOf.push(lane.id);
    }
    if (lanes.length > MAX_LANES) throw new Error(`${run.steps.length} steps are too many to align`);
    this.drawn = {
      ...run,
      lanes,
      lane: Uint16Array.from({ length: run.count }, (_, event) => numbers[cell(event)]),
      start: run.start.map(
        (start, event) => start - (isOutside(step[event]) ? 0 : run.steps[step[event]].start),
      ),
      span: run.steps.reduce(
        (longest, { step, start, end }) => (step === NO_STEP ? longest : Math.max(longest, end - start)),
        0,
      ),
      step: null,
      steps: [],
      isAligned: true,
      // Steps are in the order of their numbers, and so are these lanes.
      leftOut: this.#stepOf.filter(isOutside).length,
    };
  }

  /** The lanes of a step. */
  lanesOf(step: number): number[] {
    return this.drawn.lanes.filter((lane) => this.#stepOf[lane.id] === step).map((lane) => lane.id);
  }

  /** A selection in the run's terms; of a range over several steps the first one's part. */
  toRun(selection: Selection | null): Selection | null {
    if (!selection || "events" in selection) return selection;
    const { leftOut = 0 } = this.drawn;
    const lanes = (selection.lanes ?? this.drawn.lanes.map(({ id }) => id)).filter((lane) => lane >= leftOut);
    if (lanes.length === 0) return null;
    const step = Math.min(...lanes.map((lane) => this.#stepOf[lane]));
    const { start, step: number } = this.#run.steps[step];
    return {
      start: selection.start + start,
      end: selection.end + start,
      lanes: lanes.filter((lane) => this.#stepOf[lane] === step).map((lane) => this.#laneOf[lane]),
      step: number,
    };
  }

  /** A selection of the run in displayed times; a selection over all steps has no equivalent. */
  fromRun(selection: Selection | null): Selection | null {
    if (!selection || "events" in selection) return selection;
    const step = this.#run.steps.findIndex((each) => each.step !== NO_STEP && each.step === selection.step);
    if (step < 0) return null;
    const { start } = this.#run.steps[step];
    const lanes = this.lanesOf(step).filter(
      (lane) => selection.lanes === null || selection.lanes.includes(this.#laneOf[lane]),
    );
    return { start: selection.start - start, end: selection.end - start, lanes, step: null };
  }
}

/** Label of a step's group. */
function stepName(run: Drawn, index: number): string {
  return `step ${run.steps[index].step}`;
}
