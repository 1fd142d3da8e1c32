// A caller's change of mind, as light as it can be: the part of an AbortSignal that the pipeline
// uses, without the cost of an event target on every call. An AbortSignal fits in its place.

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

  /** Tells everyone who listens, once. The first error of a listener is thrown when all know. */
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
