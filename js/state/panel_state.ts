/** What the details and the help show, and whether they are open. */

import { HoverAndMarks } from "./hover_and_marks";

export class PanelState extends HoverAndMarks {
  panelOpen = true;
  helpOpen = false;
  statisticsBy: "op" | "name" = "op";
  /** Why there are no details; null while they may come. */
  detailsError: string | null = null;

  setPanel(open: { panelOpen?: boolean; helpOpen?: boolean; statisticsBy?: "op" | "name" }): void {
    Object.assign(this, open);
    this.emit("panel");
  }

  failDetails(message: string): void {
    this.detailsError = message;
    this.emit("details");
  }
}
