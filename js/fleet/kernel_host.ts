/** A fleet in a Jupyter output: the kernel has the dataset, and shows timelines below the heat map. */

import type { AnyModel } from "@anywidget/types";
import { endOf } from "../host/kernel_end";
import { bytesIn, requestKernel, send } from "../host/kernel_messages";
import { type Cell, type Grid, gridIn, type Values, valuesIn } from "../model/fleet/grid";
import type { FleetHost, Opened } from "./host";

export class KernelFleetHost implements FleetHost {
  constructor(
    readonly model: AnyModel,
    readonly signal: AbortSignal,
  ) {}

  get end(): AbortSignal {
    return endOf(this.model);
  }

  get link(): string {
    return this.model.get("_link");
  }

  get since(): number {
    return this.model.get("_since");
  }

  grid(): Promise<Grid> {
    return gridIn(bytesIn(this.model, "_grid"));
  }

  async values(grid: Grid, metric: string): Promise<Values> {
    const first = metric === grid.metrics[0].name;
    const bytes = first
      ? bytesIn(this.model, "_values")
      : await requestKernel(this.model, { kind: "values", metric }, this.signal, (_, [bytes]) => bytes);
    return valuesIn(bytes, grid);
  }

  open({ task, column }: Cell): Promise<Opened> {
    return requestKernel(this.model, { kind: "open", task, column }, this.signal, ({ answer }) => ({
      text: String(answer),
      isShown: true,
    }));
  }

  close(): void {
    send(this.model, { kind: "close" });
  }

  readonly compareSince = (column: number): void => send(this.model, { kind: "since", column });

  watch(changed: () => void, signal: AbortSignal): void {
    this.model.on("change:_since", changed);
    signal.addEventListener("abort", () => this.model.off("change:_since", changed));
  }
}
