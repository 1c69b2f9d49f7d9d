/** Surroundings in which nothing comes of what actions ask for, for tests without a page. */

import type { Surroundings } from "../actions";

const nothing = () => {};
const never = async () => {};

export const NOWHERE: Surroundings = {
  hint: nothing,
  focusLanes: nothing,
  focusSearch: nothing,
  openMenu: nothing,
  fullScreen: never,
  copy: never,
};
