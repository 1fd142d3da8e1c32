// Faults that a test asks for by variables of the environment: HOLDFAST_TEST_CRASH_ONCE ends this process before its
// reply to an operation, HOLDFAST_TEST_ROLLOUT_ONCE asks for a rollout when one was answered. The value is the
// operation's key: its method, or tools/call:SERVER/TOOL. The holder is told of each use first, and gives the variable
// to no later process, so that "once" outlasts the process. Without the variables there is no hook.

import type { CallObserver, ObservedCall } from '../../host/call/call-observer.ts';

export const hookVariables = ['HOLDFAST_TEST_CRASH_ONCE', 'HOLDFAST_TEST_ROLLOUT_ONCE'] as const;

export type HookVariable = (typeof hookVariables)[number];

export interface TestHookParts {
  /** The message `hook-used` to the holder; it must be with the system when this returns. */
  readonly used: (name: HookVariable) => void;
  /** Ends this process without a word. */
  readonly crash: () => void;
  readonly rollOut: () => void;
}

/** Undefined if no test asks for anything. */
export function testHooks(
  env: Readonly<Record<string, string | undefined>>,
  { used, crash, rollOut }: TestHookParts,
): CallObserver | undefined {
  const acts = { HOLDFAST_TEST_CRASH_ONCE: crash, HOLDFAST_TEST_ROLLOUT_ONCE: rollOut };
  const waiting = new Map<HookVariable, string>();
  for (const name of hookVariables) {
    const key = env[name];
    if (key !== undefined && key !== '') waiting.set(name, key);
  }
  if (waiting.size === 0) return undefined;
  return {
    // Observers are told before the answer is written.
    ended: (call) => {
      const key = operationKey(call.request);
      for (const [name, wanted] of waiting) {
        if (wanted !== key) continue;
        waiting.delete(name);
        used(name);
        if (name === 'HOLDFAST_TEST_CRASH_ONCE') acts[name]();
        else setImmediate(acts[name]);
      }
    },
  };
}

/** Our own tools are those of a server called holdfast. */
function operationKey({ server, operation }: ObservedCall['request']): string {
  const { method, name } = operation;
  return method === 'tools/call' ? `${method}:${server ?? 'holdfast'}/${name}` : method;
}
