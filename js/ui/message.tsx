/** Messages in place of a timeline: loading, empty, error. */

export function Message(props: { title: string; text?: string; progress?: { done: number; total: number } }) {
  const { title, text, progress } = props;
  return (
    <div class="message" role={progress ? "status" : "alert"}>
      <h2>{title}</h2>
      {text && <p>{text}</p>}
      {progress && (
        <progress
          aria-label={title}
          {...(progress.total > 0 ? { value: progress.done, max: progress.total } : {})}
        />
      )}
    </div>
  );
}
