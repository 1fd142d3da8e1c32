// The processes of the orchestrator that a worker has heard of, one at each seat. An announcement names the process, and
// counts its links: a process that has a new link still knows what it has taken, another one does not.

/** `link`: the same process by another link, by which something may have been lost; `process`: perhaps another one. */
export type Announced = 'known' | 'link' | 'process';

/** More replicas than anybody has. */
const maxSeats = 256;

export class OrchestratorProcesses {
  /** The last announcement, by seat; at most `maxSeats`. */
  readonly #announced = new Map<string, string>();

  /** One that was not heard of before counts as another one. */
  heard(seat: string, announcement: string): Announced {
    const before = this.#announced.get(seat);
    if (before === announcement) return 'known';
    this.#announced.delete(seat);
    this.#announced.set(seat, announcement);
    this.#forgetOldest();
    return before !== undefined && processIn(before) === processIn(announcement)
      ? 'link'
      : 'process';
  }

  #forgetOldest(): void {
    if (this.#announced.size <= maxSeats) return;
    for (const seat of this.#announced.keys()) {
      this.#announced.delete(seat);
      return;
    }
  }
}

/** The number of its link is behind the last dash. */
function processIn(announcement: string): string {
  return announcement.slice(0, Math.max(0, announcement.lastIndexOf('-')));
}
