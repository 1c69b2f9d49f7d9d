/** The components around the lanes: each is rendered into its part of the skeleton, and removed with the timeline. */

import { render } from "preact";
import type { Actions } from "../input/actions";
import type { Store } from "../state/store";
import { CodePane } from "./code/pane";
import { DetailsPanel } from "./details/panel";
import { RangePane } from "./details/range_pane";
import { GraphPane } from "./graph/pane";
import { AnnotationCorner, AnnotationFlags } from "./parts/annotation_flags";
import { Announcer, CursorTime } from "./parts/announcer";
import { ContextMenu } from "./parts/context_menu";
import { Headline } from "./parts/headline";
import { Help } from "./parts/help";
import { LaneFilter, LaneLabels } from "./parts/lane_labels";
import { NoLanes } from "./parts/no_lanes";
import { ProgressBar } from "./parts/progress_bar";
import { SideHeader } from "./parts/side_header";
import type { FindPart } from "./parts/skeleton";
import { StatusLine } from "./parts/status_line";
import { StepStrip } from "./parts/step_strip";
import { Toolbar } from "./parts/toolbar";
import { Tooltip } from "./parts/tooltip";

export function renderParts(
  root: HTMLElement,
  find: FindPart,
  store: Store,
  actions: Actions,
  isMac: boolean,
  isSide: boolean,
): void {
  if (isSide) render(<SideHeader store={store} />, find("toolbar"));
  else {
    render(<Toolbar store={store} actions={actions} root={root} />, find("toolbar"));
    render(<Headline store={store} actions={actions} />, find("headline"));
    render(<DetailsPanel store={store} actions={actions} />, find("details"));
    render(<GraphPane store={store} actions={actions} root={root} />, find("graph"));
    render(<RangePane store={store} actions={actions} />, find("range"));
    render(<CodePane store={store} actions={actions} />, find("code"));
    render(<StatusLine store={store} actions={actions} isMac={isMac} />, find("status"));
    render(<Help store={store} />, find("help"));
  }
  render(<StepStrip store={store} />, find("steps"));
  render(<LaneLabels store={store} column={find("labels")} />, find("labels"));
  render(
    <>
      <AnnotationCorner store={store} actions={actions} />
      <AnnotationFlags store={store} actions={actions} />
    </>,
    find("annotations"),
  );
  render(<NoLanes store={store} actions={actions} />, find("no-lanes"));
  render(<LaneFilter store={store} actions={actions} />, find("filter"));
  if (HAS_KERNEL) render(<ProgressBar store={store} />, find("progress"));
  render(<Tooltip store={store} main={find("main")} />, find("tooltip"));
  render(<CursorTime store={store} />, find("cursor"));
  render(<Announcer store={store} />, find("announcer"));
  render(<ContextMenu store={store} actions={actions} />, find("menu"));
  store.signal.addEventListener("abort", () => {
    for (const part of root.querySelectorAll("[data-part]")) render(null, part);
  });
}
