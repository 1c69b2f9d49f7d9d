/** The style sheets of the monitor, in the order in which they count. */

import base from "../../ui/styles/base.css";
import popover from "../../ui/styles/popover.css";
import shared from "../../ui/styles/tables.css";
import details from "./details.css";
import header from "./header.css";
import narrow from "./narrow.css";
import runTimes from "./run_times.css";
import status from "./status.css";
import tables from "./tables.css";
import timelines from "./timelines.css";

export const STYLES = [base, header, shared, tables, details, popover, runTimes, status, timelines, narrow];
