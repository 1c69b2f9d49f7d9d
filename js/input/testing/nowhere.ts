/** Surroundings in which nothing comes of what actions ask for, for tests without a page. */

import type { Surroundings } from "../annotating";

const nothing = () => {};

export const NOWHERE: Surroundings = {
  hint: nothing,
  focusLanes: nothing,
  focusSearch: () => false,
  openView: () => {},
  openMenu: nothing,
  fullScreen: async () => {},
  copy: async () => "",
};
