// Formats times, sizes and counts for people: a duration, how long ago something was, a size, how many.

/** Short durations exactly, long ones roughly. */
export function durationText(ms: number): string {
  if (ms < 1) return 'under 1 ms';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.floor(ms / 3_600_000)} h`;
  return `${Math.floor(ms / 86_400_000)} days`;
}

export function agoText(ms: number): string {
  if (ms < 1_000) return 'just now';
  return ms < 60_000 ? `${Math.floor(ms / 1_000)} s ago` : `${durationText(ms)} ago`;
}

/** The time of day; with its date if that is not today's. */
export function momentText(at: number, now: number): string {
  const { day, time } = localTime(at);
  return day === localTime(now).day ? time : `${day} ${time}`;
}

let calendar: Intl.DateTimeFormat | undefined;

/** ISO 8601 in local time; the Swedish locale has this format. */
function localTime(at: number): { readonly day: string; readonly time: string } {
  calendar ??= new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' });
  const [day = '', time = ''] = calendar.format(at).split(' ');
  return { day, time };
}

const byteUnits = ['bytes', 'kB', 'MB', 'GB'] as const;

export function sizeText(bytes: number): string {
  if (bytes === 1) return '1 byte';
  let size = bytes;
  let unit = 0;
  while (size >= 1_000 && unit < byteUnits.length - 1) {
    size /= 1_000;
    unit += 1;
  }
  const digits = unit === 0 || size >= 100 ? 0 : 1;
  return `${size.toFixed(digits)} ${byteUnits[unit]}`;
}

/** `1 file`, `2 files`. */
export function countText(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
