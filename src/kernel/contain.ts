// Where something from outside is handled (a message, a timer on somebody's behalf, a callback of the
// program that embeds us), an error that nobody expected must stay there: it concerns one server or
// one client, and must not end the process, which serves all of them. What is caught is always told
// to somebody, who counts it and writes down its cause (observe/defects.ts).

/** Hears of an error that nobody expected. Must not throw. */
export type Caught = (error: unknown) => void;

/** Runs the work; what it throws is told instead. */
export function contain(work: () => void, caught: Caught): void {
  try {
    work();
  } catch (error) {
    caught(error);
  }
}

/** For what needs no answer, such as the failure of a promise; the place where it stands says why. */
export function ignored(): void {}
