// Tasks in answers of servers: when a call has become a task, its owner and its connection are
// recorded; and a server's task id in an answer is replaced by the client's own handle. Everything
// else in the answer is unchanged.

import { type Answer, answerOf } from '../../host/call/answer.ts';
import type { CallRequest } from '../../host/call/call-parts.ts';
import type { BegunTask, Place } from '../../host/tasks/begun-task.ts';
import { type BegunTasks, cancelTask } from '../../host/tasks/begun-tasks.ts';
import { type DescribedTask, described, taskIn } from '../../host/tasks/task-result.ts';
import { Fault } from '../../kernel/fault.ts';
import { type Era, envelopeKeys, extensionNames, rpcCodes } from '../../wire/eras.ts';
import type { MemberChanges } from '../../wire/member-edits.ts';
import { objectAt } from '../../wire/parts.ts';
import type { ObjectSpan, Span } from '../../wire/span.ts';
import { ClientCapabilities } from '../clients/client-capabilities.ts';
import type { Incoming } from '../incoming.ts';
import type { Destination } from '../relay/relay.ts';
import { changedResult, editedResult } from '../relay/results.ts';
import type { TaskHandles } from './task-handles.ts';

/** Where the request went, and under which progress token. */
export interface Sent {
  readonly place: Place;
  readonly token: number;
}

/** How a call is carried for a client that may get a task for it. */
export interface Way extends Pick<CallRequest, 'takesTask' | 'sentTo'> {
  /** Known when the answer has come. */
  readonly sent: Sent | undefined;
}

const withoutTasks: Way = { takesTask: undefined, sentTo: undefined, sent: undefined };

/** Does the client ask for a task (2025-11-25)? */
export function asksForTask({ era, message }: Incoming): boolean {
  return era === 'legacy' && message.paramsObject?.find('task') !== undefined;
}

/** Tasks of which era this client can follow, if its call becomes one. */
function takesTask(incoming: Incoming): Era | undefined {
  if (!incoming.isModern) return asksForTask(incoming) ? 'legacy' : undefined;
  return declaresTasks(incoming) ? 'modern' : undefined;
}

/** In the modern era the server decides whether a call becomes a task: the client has no say in it. */
export function withoutTask({ isModern, message }: Incoming): MemberChanges | undefined {
  const isWish = message.method === 'tools/call' && message.paramsObject?.find('task');
  return isModern && isWish ? { task: null } : undefined;
}

/** A tool that cannot be called as a task has no such method, the specification says. */
export function taskCode({ code }: Fault): { readonly code: number } | undefined {
  return code === 'invalid_request' ? { code: rpcCodes.methodNotFound } : undefined;
}

/** Most clients do not, and nothing is parsed for them. */
export function declaresTasks({ capabilities }: Incoming): boolean {
  if (!capabilities.includes(extensionNames.tasks)) return false;
  return new ClientCapabilities(JSON.parse(capabilities)).hasExtension(extensionNames.tasks);
}

export class TaskResults {
  readonly #handles: TaskHandles;
  readonly #tasks: BegunTasks;

  constructor(handles: TaskHandles, tasks: BegunTasks) {
    this.#handles = handles;
    this.#tasks = tasks;
  }

  /** Throws a Fault for one task too many. */
  wayOf(incoming: Incoming, { kind, server }: Destination): Way {
    const takes = kind === 'tool' ? takesTask(incoming) : undefined;
    if (takes === undefined) return withoutTasks;
    if (takes === 'legacy') this.#tasks.makeRoom(incoming.client, server);
    const way: Way & { sent: Sent | undefined } = {
      takesTask: takes,
      sentTo: (place, token) => {
        way.sent = { place, token };
      },
      sent: undefined,
    };
    return way;
  }

  /** The call's client has disconnected: nobody will ask for the task that it has become. */
  abandoned(incoming: Incoming, answer: Answer, sent: Sent | undefined): void {
    const task = sent && taskIn(incoming.era, answer.frame, answer.object);
    const { capabilities } = incoming;
    if (task) cancelTask(sent.place.connection, task.taskId, { capabilities });
  }

  /** The answer with the client's handles. Throws a Fault where there can be none. */
  shown(incoming: Incoming, to: Destination, answer: Answer, sent: Sent | undefined): Answer {
    const { method = '' } = incoming.message;
    if (method === 'tools/call') return this.#begun(incoming, to, answer, sent);
    if (!method.startsWith('tasks/')) return answer;
    return incoming.isModern
      ? this.#asked(incoming, to, answer)
      : this.#ofSession(to.task, method, answer);
  }

  #begun(incoming: Incoming, to: Destination, answer: Answer, sent: Sent | undefined): Answer {
    const { era, client, principal } = incoming;
    const described = taskIn(era, answer.frame, answer.object);
    if (!described) return answer;
    const { progressToken } = incoming;
    const { server, name: tool } = to;
    const task = sent
      ? this.#tasks.begin(
          {
            server,
            tool,
            era,
            client,
            principal,
            ...sent,
            progressToken: progressToken && Buffer.from(progressToken),
          },
          described,
        )
      : this.#tasks.find(server, described.taskId, incoming);
    const isOwn = task?.client.key === client.key;
    if (era === 'legacy' && !isOwn) throw unknownTask(server);
    return this.#renamed(incoming, to, answer, described, task);
  }

  #renamed(
    { isModern, principal }: Incoming,
    { server, kind, name, about }: Destination,
    answer: Answer,
    { object, taskId }: DescribedTask,
    task: BegunTask | undefined,
  ): Answer {
    const tool = (kind === 'tool' ? name : about?.name) ?? '';
    const handle =
      isModern || !task
        ? this.#handles.handleOf({ server, taskId, tool }, principal)
        : this.#handles.sessionHandle(task);
    return withText(answer, object.find('taskId'), handle);
  }

  /** Modern: every description of a task holds its id; a completed one holds its result too. */
  #asked(incoming: Incoming, to: Destination, answer: Answer): Answer {
    const said = described(answer.frame, answer.object);
    if (!said) return answer;
    const task = this.#tasks.find(to.server, said.taskId, incoming);
    if (task) this.#tasks.heard(task, said);
    if (task && said.status === 'completed') this.#tasks.fetched(task);
    return this.#renamed(incoming, to, answer, said, task);
  }

  #ofSession(task: BegunTask | undefined, method: string, answer: Answer): Answer {
    if (!task) return answer;
    const handle = this.#handles.sessionHandle(task);
    if (method === 'tasks/result') {
      this.#tasks.fetched(task);
      return withRelatedTask(answer, handle);
    }
    const said = described(answer.frame, answer.object);
    if (!said) return answer;
    this.#tasks.heard(task, said);
    return withText(answer, said.object.find('taskId'), handle);
  }
}

function withText(answer: Answer, at: Span | undefined, text: string): Answer {
  if (!at) return answer;
  const edit = { start: at.start, end: at.end, with: JSON.stringify(text) };
  return answerOf(editedResult(answer, [edit]));
}

const related = envelopeKeys.relatedTask;

/** A result must name its task; where the server does not, we add it. */
function withRelatedTask(answer: Answer, handle: string): Answer {
  const { frame, object } = answer;
  const about = `{"taskId":${JSON.stringify(handle)}}`;
  const meta = inside(frame, object, '_meta');
  if (!meta) return changed(answer, { _meta: `{${JSON.stringify(related)}:${about}}` });
  const id = inside(frame, meta, related)?.find('taskId');
  if (id) return withText(answer, id, handle);
  return answerOf(editedResult(answer, [inserted(meta, `${JSON.stringify(related)}:${about}`)]));
}

function changed(answer: Answer, changes: MemberChanges): Answer {
  return answerOf(changedResult(answer, changes));
}

function inside(
  bytes: Buffer,
  object: ObjectSpan | undefined,
  key: '_meta' | typeof related,
): ObjectSpan | undefined {
  const span = object?.find(key);
  return span && objectAt(bytes, span);
}

/** A new first member. */
function inserted(object: ObjectSpan, member: string) {
  const at = object.start + 1;
  return { start: at, end: at, with: object.members().length > 0 ? `${member},` : member };
}

function unknownTask(server: string): Fault {
  return new Fault(
    'outcome_unknown',
    `${server} began a task that this client cannot follow; check its effect before you send the call again`,
    { server, dispatched: 'yes' },
  );
}
