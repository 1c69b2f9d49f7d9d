/** The style sheets of a timeline, in the order in which they count. */

import base from "../../ui/styles/base.css";
import overview from "../../ui/styles/overview.css";
import popover from "../../ui/styles/popover.css";
import annotations from "./annotations.css";
import code from "./code.css";
import details from "./details.css";
import frame from "./frame.css";
import graph from "./graph.css";
import help from "./help.css";
import labels from "./labels.css";
import lanes from "./lanes.css";
import narrow from "./narrow.css";
import pane from "./pane.css";
import status from "./status.css";
import steps from "./steps.css";
import toolbar from "./toolbar.css";
import tooltip from "./tooltip.css";
import views from "./views.css";

export const STYLES = [
  base,
  toolbar,
  steps,
  frame,
  labels,
  lanes,
  annotations,
  tooltip,
  details,
  pane,
  graph,
  code,
  overview,
  popover,
  views,
  status,
  help,
  narrow,
];
