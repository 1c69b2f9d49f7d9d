/** A table as text: for a spreadsheet, and for an issue or a chat. */

export type Field = string | number | null;

/** One of a CSV file; a text that a spreadsheet would run as a formula gets an apostrophe in front. */
function csvField(value: Field): string {
  let text = value === null ? "" : String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvText(heads: readonly string[], rows: readonly (readonly Field[])[]): string {
  return [heads, ...rows].map((row) => `${row.map(csvField).join(",")}\n`).join("");
}

/** Python that makes a DataFrame of the table. JSON's texts and numbers are Python's too. */
export function frameText(heads: readonly string[], rows: readonly (readonly Field[])[]): string {
  const column = (at: number) => rows.map((row) => JSON.stringify(row[at]).replace(/^null$/, "None"));
  const columns = heads.map((head, at) => `    ${JSON.stringify(head)}: [${column(at).join(", ")}],\n`);
  return `pd.DataFrame({\n${columns.join("")}})\n`;
}

/** Texts from a trace stay texts: what Markdown or HTML would take for its own is escaped. */
function markdownField(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[\\`*_|<>[\]]/g, "\\$&");
}

/** The columns with these indexes hold texts; figures stand at the right. */
export function markdownText(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  isText: (column: number) => boolean,
): string {
  const rule = heads.map((_, column) => (isText(column) ? "---" : "---:"));
  const lines = [heads.map(markdownField), rule, ...rows.map((row) => row.map(markdownField))];
  return lines.map((fields) => `| ${fields.join(" | ")} |\n`).join("");
}
