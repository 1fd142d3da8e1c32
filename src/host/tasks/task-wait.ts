// Follows a task for a caller that cannot: the call became a task, the host follows it, and the
// caller gets the result of the call as if there had been no task. A task of 2025-11-25 is waited
// for with `tasks/result`; one of the modern extension is polled, and input that it needs is
// requested from the caller's client. The call itself was sent once; nothing here runs it again. If
// the caller cancels, or its time is over, or the server violates the protocol, the task is
// cancelled.

import { CancelSignal } from '../../kernel/cancel-signal.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Fault, type FaultCode } from '../../kernel/fault.ts';
import type { Connection, RequestOptions } from '../../upstream/connection.ts';
import { unlessAborted } from '../../upstream/unless-aborted.ts';
import { numberOf } from '../../wire/decode.ts';
import { envelopeKeys, rpcCodes } from '../../wire/eras.ts';
import { answerWith } from '../../wire/frames.ts';
import { memberEdits } from '../../wire/member-edits.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { splice } from '../../wire/splice.ts';
import type { Interruption } from '../call/interruption.ts';
import type { Caller } from '../connections/caller.ts';
import { type BegunTasks, cancelTask } from './begun-tasks.ts';
import {
  askForInput,
  type InputRequest,
  type InputResponse,
  readInputRequests,
} from './input-requests.ts';
import { type DescribedTask, described, taskHeaders } from './task-result.ts';

/** How often a modern task is asked for, whatever its server suggests. */
const pollMs = { least: 50, usual: 1_000, most: 30_000 };

/**
 * Outcomes of a call after which nobody follows its task, though the server may still work on it.
 */
const givingUp: ReadonlySet<FaultCode> = new Set(['cancelled', 'timeout', 'protocol_violation']);

export interface TaskWait {
  readonly server: string;
  readonly connection: Connection;
  /** Of the call that became a task. */
  readonly options: RequestOptions;
  readonly caller: Caller | undefined;
  readonly clock: Clock;
  readonly interruption: Interruption;
  readonly tasks: BegunTasks;
}

/** The answer of the call: a result, or the server's own error. Rejects with a Fault. */
export async function finishTask(wait: TaskWait, task: DescribedTask): Promise<Message> {
  const { connection, tasks, caller } = wait;
  const loss = new CancelSignal();
  using _owner = tasks.following(connection, task.taskId, caller, () =>
    loss.abort(lostFault(wait.server)),
  );
  const options = { ...wait.options, headers: taskHeaders(connection, task.taskId) };
  const ask = (method: string, more = '') => {
    const members = `"taskId":${JSON.stringify(task.taskId)}${more}`;
    const exchange = connection.request(method, { members }, options);
    wait.interruption.interrupts(exchange);
    return exchange.answer;
  };
  try {
    if (connection.era === 'legacy') return withoutRelatedTask(await ask('tasks/result'));
    return await followed({ ...wait, loss }, task, ask);
  } catch (thrown) {
    if (thrown instanceof Fault && givingUp.has(thrown.code))
      cancelTask(connection, task.taskId, options);
    throw thrown;
  }
}

/** The caller does not know that there is a task. */
function withoutRelatedTask(message: Message): Message {
  const { bytes, meta, kind } = message;
  if (kind !== 'result' || !meta?.find(envelopeKeys.relatedTask)) return message;
  const edits = memberEdits(meta, { [envelopeKeys.relatedTask]: null });
  return scanMessage(splice(bytes, edits));
}

// --- modern --------------------------------------------------------------------------------

interface Following extends TaskWait {
  /** Raised when the connection is gone. */
  readonly loss: CancelSignal;
}

type Ask = (method: string, more?: string) => Promise<Message>;

async function followed(wait: Following, begun: DescribedTask, ask: Ask): Promise<Message> {
  const answered = new Set<string>();
  for (let task = begun; ; ) {
    await pause(wait, pollOf(task));
    const message = await ask('tasks/get');
    if (message.kind === 'error') return message;
    const now = described(message.bytes, message.resultObject);
    if (!now) throw notATask(wait.server);
    task = now;
    const end = endOf(wait.server, task);
    if (end) return end;
    if (task.status === 'input_required') {
      const refused = await answerQuestions(wait, task, answered, ask);
      if (refused) return refused;
    }
  }
}

async function pause({ clock, interruption }: TaskWait, ms: number): Promise<void> {
  let timer: Disposable | undefined;
  const over = new Promise<void>((resolve) => {
    timer = clock.after(ms, resolve);
  });
  await interruption.of(over).finally(() => timer?.[Symbol.dispose]());
}

function pollOf({ bytes, object }: DescribedTask): number {
  const span = object.find('pollIntervalMs');
  const suggested = (span && numberOf(bytes, span)) ?? pollMs.usual;
  return Math.min(Math.max(suggested, pollMs.least), pollMs.most);
}

/** What the call ends with, if the task has ended. */
function endOf(server: string, { bytes, object, status }: DescribedTask): Message | undefined {
  const result = object.find('result');
  const error = object.find('error');
  if (status === 'completed' && result)
    return answerWith('result', bytes.subarray(result.start, result.end));
  if (status === 'failed' && error)
    return answerWith('error', bytes.subarray(error.start, error.end));
  if (status === 'working' || status === 'input_required') return undefined;
  if (status !== 'cancelled') throw notATask(server);
  const message = `${server} cancelled the task that this call had become`;
  return answerWith('error', JSON.stringify({ code: rpcCodes.internalError, message }));
}

function notATask(server: string): Fault {
  return new Fault('protocol_violation', `${server} sent a task that is not valid MCP`, {
    server,
    dispatched: 'yes',
  });
}

/** Asks the client what was not asked before; gives the client's error if it has one for an answer. */
async function answerQuestions(
  wait: Following,
  { bytes, object }: DescribedTask,
  answered: Set<string>,
  ask: Ask,
): Promise<Message | undefined> {
  const requests = readInputRequests(wait.server, bytes, object);
  const open = requests.filter(({ key }) => !answered.has(key));
  if (open.length === 0) return undefined;
  const answers = await answersOf(wait, open);
  for (const { key } of answers) answered.add(key);
  const refusal = answers.find(({ given }) => given.kind === 'error')?.given;
  if (refusal) {
    cancelTask(wait.connection, described(bytes, object)?.taskId ?? '', wait.options);
    return answerWith('error', refusal.json);
  }
  const responses = answers.map(({ key, given }) => `${JSON.stringify(key)}:${given.json}`);
  const updated = await ask('tasks/update', `,"inputResponses":{${responses.join(',')}}`);
  return updated.kind === 'error' ? updated : undefined;
}

/**
 * The requests to the client are cancelled if the call, or the server, ends before it has answered.
 */
async function answersOf(
  { caller, server, interruption, loss }: Following,
  requests: readonly InputRequest[],
): Promise<readonly InputResponse[]> {
  if (caller === undefined) return requests.map(unasked);
  const withdrawn = new CancelSignal();
  const asking = askForInput(caller, server, requests, withdrawn);
  try {
    return await interruption.of(unlessAborted(loss, asking));
  } catch (thrown) {
    withdrawn.abort();
    throw thrown;
  }
}

function lostFault(server: string): Fault {
  return new Fault('unavailable', `${server} was lost while its task was running`, { server });
}

function unasked({ key, message }: InputRequest): InputResponse {
  const error = {
    code: rpcCodes.methodNotFound,
    message: `no client can answer ${message.method}`,
  };
  return { key, given: { kind: 'error', json: JSON.stringify(error) } };
}
