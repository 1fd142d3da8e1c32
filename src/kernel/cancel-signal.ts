// A minimal cancellation signal: the part of an AbortSignal that the pipeline uses, without the
// cost of an event target for every call. An AbortSignal can be used in its place.

export interface Signal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

export class CancelSignal implements Signal {
  aborted = false;
  reason: unknown;
  #listener: (() => void) | undefined;
  #others: Set<() => void> | undefined;

  addEventListener(_type: 'abort', listener: () => void): void {
    if (this.#listener === undefined) {
      this.#listener = listener;
      return;
    }
    this.#others ??= new Set();
    this.#others.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined;
    else this.#others?.delete(listener);
  }

  /**
   * Notifies every listener, once. The first error of a listener is thrown after all have been
   * notified.
   */
  abort(reason?: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const listener = this.#listener;
    const others = [...(this.#others ?? [])];
    this.#listener = undefined;
    this.#others = undefined;
    const errors: unknown[] = [];
    for (const tell of listener ? [listener, ...others] : others) {
      try {
        tell();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
