/** A name that breaks between its scopes, not within them, where it must be broken at all. */

/** Beyond so many scopes a name is not read but recognised, and may break anywhere. */
const MOST_SCOPES = 100;

export function ScopedText({ text }: { text: string }) {
  const parts = text.split("/", MOST_SCOPES + 1);
  if (parts.length > MOST_SCOPES) return <>{text}</>;
  return (
    <>
      {parts.map((part, place) => (
        <>
          {part}
          {place < parts.length - 1 && (
            <>
              /<wbr />
            </>
          )}
        </>
      ))}
    </>
  );
}
