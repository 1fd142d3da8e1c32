// Cases one after the other in a few lanes beside each other. Which case goes into which lane is fixed,
// so that a run can be repeated.

const lanes = 3;

/** Ends when all lanes have ended; the first that fails is what it fails with. */
export async function sideBySide<T>(
  cases: readonly T[],
  run: (queue: readonly T[], lane: number) => Promise<void>,
): Promise<void> {
  const queues = Array.from({ length: lanes }, (_, lane) =>
    cases.filter((_case, number) => number % lanes === lane),
  );
  await Promise.all(queues.map((queue, lane) => (queue.length > 0 ? run(queue, lane) : undefined)));
}
