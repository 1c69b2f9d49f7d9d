/** The style sheets of a dashboard's tabs, in the order in which they count. */

import charts from "../../charts/styles.css";
import overview from "../../ui/styles/overview.css";
import popover from "../../ui/styles/popover.css";
import shared from "../../ui/styles/tables.css";
import findings from "./findings.css";
import flame from "./flame.css";
import narrow from "./narrow.css";
import stages from "./stages.css";
import tables from "./tables.css";
import tabs from "./tabs.css";
import whatIf from "./what_if.css";

export const STYLES = [
  tabs,
  charts,
  shared,
  popover,
  tables,
  overview,
  findings,
  flame,
  stages,
  whatIf,
  narrow,
];
