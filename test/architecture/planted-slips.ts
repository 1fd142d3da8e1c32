// Each slip that `outside-input.test.ts` looks for, once, to show that it would be found. Nothing of
// this is ever run.

const table: Readonly<Record<string, number>> = { one: 1 };
const words = { one: 'eins' };

export function lookUp(method: string, outcome: string): unknown {
  const { [method]: taken } = table;
  return [
    table[method],
    words[outcome as keyof typeof words],
    method in table,
    table[`x-${method}`],
    taken,
  ];
}

export function change(into: Record<string, number>, key: string): void {
  into[key] = 1;
}

export function gather(into: number[], page: readonly number[]): number {
  into.push(...page);
  return Math.max(0, ...page);
}

export function leave(work: () => Promise<void>): void {
  void work();
  work().then(
    () => {},
    () => {},
  );
}
