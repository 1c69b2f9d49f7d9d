/** The head of a column that rows can be sorted by. */

import { nextSort, type Sort } from "../monitor/sorting";

interface SortHeadProps<Column extends string> {
  column: Column;
  title: string;
  /** What it is in more words. */
  hint?: string;
  sort: Sort<Column>;
  choose: (sort: Sort<Column>) => void;
}

export function SortHead<Column extends string>(props: SortHeadProps<Column>) {
  const { column, title, hint, sort, choose } = props;
  const direction = sort.by === column ? (sort.up ? "ascending" : "descending") : "none";
  return (
    <th scope="col" class={`c-${column}`} aria-sort={direction}>
      <button type="button" title={hint} onClick={() => choose(nextSort(sort, column))}>
        {title}
      </button>
    </th>
  );
}
