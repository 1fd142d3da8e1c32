// Handles of tasks (the tasks extension). A server's task id is a bearer handle that was given to us;
// a client gets its own for it, which names the server, is bound to the client's principal and is the
// same every time, because clients compare handles. Whoever brings another's, or one that was made
// up, has brought none.

import { type Answer, answerOf } from '../host/answer.ts';
import type { Principal } from '../policy/principal.ts';
import { textOf } from '../wire/decode.ts';
import type { Incoming } from './incoming.ts';
import { changedResult } from './results.ts';
import type { Seal } from './seal.ts';

export interface TaskOwner {
  readonly server: string;
  readonly taskId: string;
}

export class TaskHandles {
  readonly #seal: Seal;

  constructor(seal: Seal) {
    this.#seal = seal;
  }

  /** `SERVER.ID.SIGNATURE`, where the server's name and the signature hold no dot. */
  handleOf({ server, taskId }: TaskOwner, principal: Principal): string {
    const name = encodeURIComponent(server).replaceAll('.', '%2E');
    return `${name}.${taskId}.${this.#seal.sign('task', principal.id, server, taskId)}`;
  }

  ownerOf(handle: string, principal: Principal): TaskOwner | undefined {
    const first = handle.indexOf('.');
    const last = handle.lastIndexOf('.');
    if (first < 0 || last <= first) return undefined;
    const server = decoded(handle.slice(0, first));
    const taskId = handle.slice(first + 1, last);
    if (server === undefined) return undefined;
    const isOurs = this.#seal.isSigned(
      handle.slice(last + 1),
      'task',
      principal.id,
      server,
      taskId,
    );
    return isOurs ? { server, taskId } : undefined;
  }

  /** The result with the handle in the place of the server's id, if it has one. */
  inResult(to: { readonly server: string }, incoming: Incoming, answer: Answer): Answer {
    const span = answer.object?.find('taskId');
    const taskId = span && textOf(answer.frame, span);
    if (taskId === undefined || !incoming.isModern) return answer;
    const handle = this.handleOf({ server: to.server, taskId }, incoming.principal);
    const frame = changedResult(answer, { taskId: JSON.stringify(handle) });
    return answerOf(frame);
  }
}

function decoded(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch {
    // Not one of ours: ours are always well-formed.
    return undefined;
  }
}
