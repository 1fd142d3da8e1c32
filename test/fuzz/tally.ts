// How often what happened: the proof that a fuzzer has been where it should.

export class Tally {
  readonly #counts = new Map<string, number>();

  count(name: string, by = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** All whose name begins so, added up. */
  sum(prefix: string): number {
    return this.entries().reduce(
      (sum, [name, by]) => (name.startsWith(prefix) ? sum + by : sum),
      0,
    );
  }

  /** In the order of their names. */
  entries(): readonly (readonly [string, number])[] {
    return [...this.#counts].sort(([one], [other]) => (one < other ? -1 : 1));
  }

  /** All whose name begins so, in one line, the most frequent first. */
  told(prefix = ''): string {
    const meant = this.entries().filter(([name]) => name.startsWith(prefix));
    const ordered = meant.toSorted(([, one], [, other]) => other - one);
    const texts = ordered.map(
      ([name, by]) => `${name.slice(prefix.length)} ${by.toLocaleString('en-US')}`,
    );
    return texts.join(', ') || 'none';
  }

  add(entries: readonly (readonly [string, number])[]): void {
    for (const [name, by] of entries) this.count(name, by);
  }
}
