// Whether a client may hear what a server says. It may while its principal sees what the message belongs to:
// the tool, prompt or resource of a running call, the tool of a task, or else the server as a whole. Of what
// a change of the policy hides nothing more is sent; the answer of a call that was sent before is the last that
// comes of it (host/call/decision.ts decides about calls that were not). What it hears counts toward
// its budget, and is not given out beyond that.

import type { Caller } from '../../host/connections/caller.ts';
import type { HostForGateway } from '../../host/gateway-face.ts';
import { relatedTask } from '../../host/tasks/task-result.ts';
import type { Principal } from '../../policy/principal.ts';
import type { CountedClient } from '../../policy/role-budgets/session-accounts.ts';
import type { Message } from '../../wire/scan.ts';
import { Incoming } from '../incoming.ts';
import { seesServer } from '../view/sight.ts';

/** Who would hear it. */
export interface Hearer {
  readonly key: string;
  readonly principal: Principal;
}

export class Hearing {
  readonly #host: HostForGateway;

  constructor(host: HostForGateway) {
    this.#host = host;
  }

  /** `caller` is the call that the message belongs to, if that is known. */
  may(hearer: Hearer, server: string, message: Message, caller: Caller | undefined): boolean {
    const { principal } = hearer;
    const { access } = this.#host;
    if (access.scopeOf(principal) === '') return true;
    const tool = this.#taskTool(hearer, server, message);
    if (tool !== undefined) {
      const request = { action: 'task', server, kind: 'tool', name: tool, method: null } as const;
      return access.isAllowed(principal, request);
    }
    if (caller instanceof Incoming && caller.about?.server === server) return this.ofCall(caller);
    return seesServer(this.#host, principal, server);
  }

  /** A client of this principal is about to get this message: it is counted. False: its budget is exceeded. */
  mayReceive(principal: Principal, client: CountedClient, { params }: Message): boolean {
    const bytes = params === undefined ? 0 : params.end - params.start;
    return this.#host.mayReceive(principal, client, bytes);
  }

  /** Whether what belongs to this call may still be heard. */
  ofCall({ about, allowedAt, principal }: Incoming): boolean {
    const { access } = this.#host;
    return (
      about === undefined || allowedAt === access.version || access.isAllowed(principal, about)
    );
  }

  /** The tool of the task that a message is about, if the client has begun one; null: not known. */
  #taskTool({ key }: Hearer, server: string, message: Message): string | null | undefined {
    const taskId = relatedTask(message);
    if (taskId === undefined) return undefined;
    const own = this.#host.tasks.ofClient(key);
    return own.find((task) => task.server === server && task.taskId === taskId)?.tool;
  }
}
