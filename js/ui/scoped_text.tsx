/** A name that breaks between its scopes, not within them, where it must be broken at all. */

/** Beyond so many scopes a name is not read but recognised, and may break anywhere. */
const MAX_SCOPES = 100;

export function ScopedText({ text }: { text: string }) {
  const parts = text.split("/", MAX_SCOPES + 1);
  if (parts.length > MAX_SCOPES) return <>{text}</>;
  return (
    <>
      {parts.map((part, index) => (
        <>
          {part}
          {index < parts.length - 1 && (
            <>
              /<wbr />
            </>
          )}
        </>
      ))}
    </>
  );
}
