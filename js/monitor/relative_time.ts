/** Relative times in words, and the current time on the machine of the file. */

/** "now", "3 s ago", "5 min ago", "2 h ago", "4 d ago". */
export function ago(ms: number, nowMs: number): string {
  const seconds = Math.floor(Math.max(nowMs - ms, 0) / 1000);
  if (seconds < 1) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

const two = (value: number) => String(value).padStart(2, "0");

/** In the browser's own time zone: "12:03:04" on the same day, "2026-11-20 12:03" otherwise. */
export function moment(ms: number, nowMs: number): string {
  const date = new Date(ms);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  const isToday = date.toDateString() === new Date(nowMs).toDateString();
  return isToday ? `${time}:${two(date.getSeconds())}` : `${day(date)} ${time}`;
}

/** All of it: "2026-11-20 12:03:04". */
export function fullMoment(ms: number): string {
  const date = new Date(ms);
  return `${day(date)} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

function day(date: Date): string {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/**
 * The time of the machine that has the file, whose clock may differ from the browser's. A stored state may be
 * of any age, so only a new state, or one from a clock that is ahead, shows the difference.
 */
export class Clock {
  #ahead: number | null = null;

  /** Takes note of a state's time; `isNew` if it was just read. */
  seen(nowMs: number, isNew: boolean, browserMs = Date.now()): void {
    const ahead = nowMs - browserMs;
    if (isNew) this.#ahead = ahead;
    else this.#ahead ??= Math.max(ahead, 0);
  }

  now(browserMs = Date.now()): number {
    return browserMs + (this.#ahead ?? 0);
  }
}
