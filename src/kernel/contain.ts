// Contains unexpected errors where something from outside is handled: a message, a timer for a
// server or client, a callback of the embedding program. Such an error concerns one server or one
// client and must not end the process, which serves all of them. Every caught error is passed to a
// function that counts it and records its cause (observe/defects.ts).

/** Receives an unexpected error. Must not throw. */
export type Caught = (error: unknown) => void;

/** Runs the work; an error that it throws is passed on instead. */
export function contain(work: () => void, caught: Caught): void {
  try {
    work();
  } catch (error) {
    caught(error);
  }
}

/**
 * For errors that need no handling, such as a promise whose failure is irrelevant; a comment at
 * each use says why.
 */
export function ignored(): void {}
