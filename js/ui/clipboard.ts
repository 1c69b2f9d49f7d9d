/** Copies a text to the clipboard, even on pages over plain HTTP, which may not use the asynchronous API. */

/** Resolves with what to tell the user. */
export function copied(text: string): Promise<string> {
  return copyText(text).then(
    () => "Copied",
    (problem: Error) => `Not copied: ${problem.message}`,
  );
}

async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    if (!isCopied) throw new Error("the browser does not allow this page to use the clipboard");
  }
}
