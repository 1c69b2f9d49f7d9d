/** A fleet in an exported page: all its figures, and the timelines of a few cells. */

import { embedded } from "../host/embedded";
import { type Cell, type Grid, gridIn, stepText, type Values, valuesIn } from "../model/fleet/grid";
import type { FleetHost, Opened } from "./host";

/** What display/pages/fleet.py has written. */
export interface Written {
  /** The numbers of the cells whose timelines are in the page. */
  worst: number[];
  /** The column since which the page's ops are compared. */
  since: number;
  /** Name of the dataset. */
  dataset: string;
  /** The tasks by their full names. */
  tasks: string[];
}

export class PageFleetHost implements FleetHost {
  #grid: Grid | null = null;

  constructor(
    readonly link: string,
    readonly written: Written,
    /** Shows the timeline that the page has at an index, or removes it. */
    readonly timeline: (index: number | null) => Promise<void>,
  ) {}

  get since(): number {
    return this.written.since;
  }

  async grid(): Promise<Grid> {
    this.#grid ??= await gridIn(await embedded("tfvis-fleet"));
    return this.#grid;
  }

  async values(grid: Grid, metric: string): Promise<Values> {
    const index = grid.metrics.findIndex(({ name }) => name === metric);
    return valuesIn(await embedded(`tfvis-values-${index}`), grid);
  }

  hasTimeline(grid: Grid, { task, column }: Cell): boolean {
    return this.written.worst.includes(task * grid.step.length + column);
  }

  async open({ task, column }: Cell): Promise<Opened> {
    const grid = await this.grid();
    const { worst, tasks, dataset } = this.written;
    const index = worst.indexOf(task * grid.step.length + column);
    if (index >= 0) {
      await this.timeline(index);
      return { text: "Its timeline is below.", isShown: true };
    }
    this.close();
    const names = worst.map((cell) => {
      const at = cell % grid.step.length;
      return `${stepText(grid, at)} of ${grid.tasks[Math.floor(cell / grid.step.length)]}`;
    });
    const has = names.length
      ? `This page has the timelines of ${names.join(", ")}.`
      : "This page has no timelines.";
    const run = grid.runs[grid.run[column]];
    const cell = `run=${quoted(run)}, task=${quoted(tasks[task])}, steps=${grid.step[column]}`;
    const call = `tv.show_timeline(tv.open_traces(${quoted(dataset)}).trace(${cell}))`;
    return { text: `${has} For this one, run`, isShown: false, call };
  }

  close(): void {
    this.timeline(null);
  }

  watch(): void {}
}

/** A text as Python writes it. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
