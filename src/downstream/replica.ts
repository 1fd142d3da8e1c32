// A gateway as one of several replicas: what it gives to clients to bring back (states, cursors, handles) is sealed with
// a key that all replicas have, and says which replica has the call or the server that it belongs to, where only that
// one can go on with it.

import { createHmac } from 'node:crypto';
import type { Principal } from '../policy/principal.ts';
import { textOf } from '../wire/decode.ts';
import type { Message } from '../wire/scan.ts';
import { isParkedState } from './relay/parking.ts';
import type { Seal } from './relay/seal.ts';
import type { TaskHandles } from './tasks/task-handles.ts';

export interface Replica {
  readonly id: string;
  /** The same at all replicas; at least 32 bytes. */
  readonly key: Buffer;
  /** Its servers go to the process that replaces it: a task of theirs belongs to nobody in particular. */
  readonly doServersMove?: boolean;
}

/** A key for one use, made of the shared one. */
export function keyFor({ key }: Replica, use: 'states' | 'cursors'): Buffer {
  return createHmac('sha256', key).update(`replicas of holdfast: ${use}`).digest();
}

/** The replica that has what a modern request continues; undefined: every replica can serve it. */
export function holderOf(
  { seal, handles }: { readonly seal: Seal; readonly handles: TaskHandles },
  { bytes, paramsObject, method = '' }: Message,
  principal: Principal,
): string | undefined {
  const state = paramsObject?.find('requestState');
  if (state !== undefined) {
    const text = textOf(bytes, state);
    const opened = text === undefined ? undefined : seal.open(text);
    return isParkedState(opened) ? opened.at : undefined;
  }
  if (!method.startsWith('tasks/')) return undefined;
  const handle = paramsObject?.find('taskId');
  const text = handle && textOf(bytes, handle);
  return text === undefined ? undefined : handles.ownerOf(text, principal)?.at;
}
