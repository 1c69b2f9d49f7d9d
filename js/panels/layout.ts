/** Which tables need all the width: side by side with another one their last columns would be out of sight. */

import type { TableColumn } from "./blocks";

const MAX_COLUMNS = 7;
/** Of those with several texts, which take more room than figures. */
const MAX_COLUMNS_WITH_TEXTS = 5;
const MAX_TEXTS = 2;

export const isText = ({ unit }: TableColumn): boolean => unit === "text" || unit === "name";

export function isWide(columns: readonly TableColumn[]): boolean {
  if (columns.length > MAX_COLUMNS) return true;
  return columns.length > MAX_COLUMNS_WITH_TEXTS && columns.filter(isText).length > MAX_TEXTS;
}
