// A scope owns resources and frees them once, in reverse order of acquisition, even if one of them
// fails. It replaces AsyncDisposableStack, which Node 20 does not have.

export class Scope implements AsyncDisposable {
  readonly #cleanups: (() => void | Promise<void>)[] = [];
  #isOpen = true;
  #ending: Promise<void> | undefined;

  /** Registers what to do when the scope ends; last in, first out. */
  defer(cleanup: () => void | Promise<void>): void {
    if (!this.#isOpen) throw new Error('the scope has already ended');
    this.#cleanups.push(cleanup);
  }

  /** Takes ownership of a disposable object and returns it. */
  own<T extends Disposable | AsyncDisposable>(thing: T): T {
    this.defer(() =>
      Symbol.asyncDispose in thing
        ? Promise.resolve(thing[Symbol.asyncDispose]())
        : thing[Symbol.dispose](),
    );
    return thing;
  }

  /** Ends the scope. A second call joins the first. All cleanups run; the first error is thrown. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#isOpen = false;
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    const errors: unknown[] = [];
    for (const cleanup of this.#cleanups.splice(0).reverse()) {
      try {
        await cleanup();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
