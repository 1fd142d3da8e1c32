// What the storm wants of a client, however it is connected.

import type { AnswerSeen } from './history.ts';
import type { Order } from './order.ts';

export interface Client {
  /** Ready for calls. */
  open(): Promise<void>;
  /** Resolves when nothing more is owed for it, to the answer if there was one; never rejects. */
  call(order: Order): Promise<AnswerSeen | undefined>;
  /** Asks for the tools, for the trouble that it makes; what comes back is not judged. */
  list(): Promise<void>;
  /** Breaks its connection in the middle of everything, and is soon back. */
  vanish(): Promise<void>;
  /** Waits for what it is owed, up to the bound, and leaves properly. */
  leave(boundMs: number): Promise<void>;
}

export function pauseMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves when the promise does, or after the bound; true if it was in time. */
export async function within(boundMs: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), boundMs);
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
