/** Surroundings in which nothing comes of what actions ask for, for tests without a page. */

import type { Surroundings } from "../surroundings";

const nothing = () => {};
const never = async () => {};

export const NOWHERE: Surroundings = {
  hint: nothing,
  focusLanes: nothing,
  focusSearch: nothing,
  openViews: () => false,
  openMenu: nothing,
  fullScreen: never,
  copy: never,
};
