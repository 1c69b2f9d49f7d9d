/** A name that breaks between its scopes, and between the words of a long scope, only if it must break. */

/** Beyond this many parts a name is not read but recognised, and may break anywhere. */
const MAX_PARTS = 100;
/** A shorter scope stays in one piece. */
const LONG_SCOPE = 18;
const AFTER_SCOPE = /(?<=\/)/;
const AFTER_WORD = /(?<=_)|(?<=[a-z])(?=[A-Z])/;

/** The parts of a name between which it may break. */
export function scopedParts(text: string): string[] {
  const parts = text
    .split(AFTER_SCOPE, MAX_PARTS + 1)
    .flatMap((scope) => (scope.length > LONG_SCOPE ? scope.split(AFTER_WORD, MAX_PARTS + 1) : [scope]));
  return parts.length > MAX_PARTS ? [text] : parts;
}

export function ScopedText({ text }: { text: string }) {
  return (
    <>
      {scopedParts(text).map((part, index) => (
        <>
          {index > 0 && <wbr />}
          {part}
        </>
      ))}
    </>
  );
}
