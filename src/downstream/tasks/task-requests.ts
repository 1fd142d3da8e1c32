// Requests of clients about their tasks. Each is forwarded to the server of the task with the
// server's own id; one of 2025-11-25 goes to the connection that began the task, and ends in a
// typed fault if that is closed. `tasks/result` waits for the work itself, so it may take as long
// as the task is kept. The list is composed from what this client has begun here, each task with
// its current description from the server: another client's tasks cannot get into it.

import { RpcAnswer } from '../../host/call/call-faults.ts';
import type { AccessSubject } from '../../host/call/call-parts.ts';
import type { BegunTask } from '../../host/tasks/begun-task.ts';
import { described } from '../../host/tasks/task-result.ts';
import { Fault, faultFrom } from '../../kernel/fault.ts';
import { textOf } from '../../wire/decode.ts';
import { extensionNames, rpcCodes } from '../../wire/eras.ts';
import type { ErrorToSend } from '../../wire/frames.ts';
import { memberEdits } from '../../wire/member-edits.ts';
import { objectAt } from '../../wire/parts.ts';
import { oneLine, splice } from '../../wire/splice.ts';
import type { Gateway } from '../gateway.ts';
import { Incoming } from '../incoming.ts';
import { invalidParams, textParam } from '../refusals.ts';
import { declaresTasks } from './task-results.ts';

/** Requests for the result of one task that wait at the same time. */
const maxWaiting = 8;
/** Tasks of one page of a list. */
const pageTasks = 50;
/** How many of them are asked for at a time. */
const parallel = 8;
/**
 * How long a list waits for a server's description of one task; then the last known one is used.
 */
const describeMs = 5_000;

/** A server must refuse clients that did not declare the extension (modern). */
export function lacksTasks(): ErrorToSend {
  return {
    code: rpcCodes.missingClientCapability,
    message: `Missing client capability: declare ${extensionNames.tasks} to use tasks`,
    data: JSON.stringify({ requiredCapabilities: { extensions: { [extensionNames.tasks]: {} } } }),
  };
}

/** `tasks/get`, `tasks/update`, `tasks/cancel` of the extension. */
export function modernTaskRequest(gateway: Gateway, incoming: Incoming): void {
  if (!declaresTasks(incoming)) return incoming.error(lacksTasks());
  const handle = textParam(incoming, 'taskId');
  const { handles, host } = gateway;
  const owner = handle === undefined ? undefined : handles.ownerOf(handle, incoming.principal);
  if (!owner) return incoming.error(invalidParams('unknown task'));
  const { server, taskId, tool } = owner;
  const begun = host.tasks.find(server, taskId, incoming);
  // Its server uses the id again, for a call of another tool.
  if (begun && begun.tool !== tool) return incoming.error(invalidParams('unknown task'));
  gateway.relay.carry(incoming, {
    server,
    kind: 'other',
    name: taskId,
    about: { kind: 'tool', name: tool },
    changes: { taskId: JSON.stringify(taskId) },
    // Another process of the same server may know nothing of it.
    slot: begun?.place.slot,
  });
}

/** `tasks/get`, `tasks/result`, `tasks/cancel` of 2025-11-25. */
export function sessionTaskRequest(gateway: Gateway, incoming: Incoming): void {
  const { method = '' } = incoming.message;
  const handle = textParam(incoming, 'taskId');
  const { handles, host } = gateway;
  const task = handle === undefined ? undefined : handles.taskOf(handle, incoming, host.tasks);
  if (!task) return incoming.error(invalidParams('unknown task'));
  const isWait = method === 'tasks/result';
  if (isWait && waitingFor(task) >= maxWaiting) throw tooManyWait(task.server);
  const { server, taskId, place } = task;
  const { callTimeoutMs } = host.find(server).config;
  task.asking.add(incoming);
  gateway.relay.carry(incoming, {
    server,
    kind: 'other',
    name: taskId,
    about: toolOf(task),
    changes: { taskId: JSON.stringify(taskId) },
    slot: place.slot,
    task,
    ...(isWait ? { timeoutMs: Math.max(task.leftMs(), callTimeoutMs) } : {}),
    settled: () => task.asking.delete(incoming),
  });
}

/** A client that may call a tool may follow the tasks of its calls. */
function toolOf({ tool }: BegunTask): AccessSubject {
  return { kind: 'tool', name: tool };
}

function waitingFor({ asking }: BegunTask): number {
  const isWait = (caller: unknown) =>
    caller instanceof Incoming && caller.message.method === 'tasks/result';
  return [...asking].filter(isWait).length;
}

function tooManyWait(server: string): Fault {
  const detail = `${maxWaiting} requests already wait for the result of this task`;
  return new Fault('overloaded', detail, { server });
}

// --- the list of 2025-11-25 ----------------------------------------------------------------

export function listTasks(gateway: Gateway, incoming: Incoming): void {
  const { bytes, paramsObject } = incoming.message;
  const span = paramsObject?.find('cursor');
  const cursor = span && textOf(bytes, span);
  const after = span === undefined ? 0 : serialIn(gateway, incoming, cursor);
  if (after === undefined) {
    return incoming.error(invalidParams('this cursor was not issued for this list'));
  }
  gateway.ownAnswers.count(incoming, {}, async () => {
    const own = gateway.host.tasks.ofClient(incoming.client.key);
    const isSeen = ({ server, tool: name }: BegunTask) => {
      const request = { action: 'task', server, kind: 'tool', name, method: 'tasks/list' } as const;
      return gateway.host.access.isAllowed(incoming.principal, request);
    };
    const rest = own.filter((task) => task.serial > after && !task.isLost && isSeen(task));
    const page = rest.slice(0, pageTasks);
    const described = await descriptions(gateway, incoming, page);
    // What was seen may have been hidden while the servers were asked.
    const shown = described.filter(({ task }) => isSeen(task)).map(({ text }) => text);
    const last = page.at(-1);
    const more =
      last && rest.length > page.length
        ? `,"nextCursor":${JSON.stringify(cursorAfter(gateway, incoming, last))}`
        : '';
    incoming.result('{"tasks":[', joined(shown), `]${more}}`);
  });
}

function cursorAfter({ seal }: Gateway, { client }: Incoming, { serial }: BegunTask): string {
  return seal.close({ tasksAfter: serial, client: client.key });
}

function serialIn(
  { seal }: Gateway,
  { client }: Incoming,
  cursor: string | undefined,
): number | undefined {
  const opened = cursor === undefined ? undefined : seal.open(cursor);
  if (typeof opened !== 'object' || opened === null || !('tasksAfter' in opened)) return undefined;
  const { tasksAfter, client: key } = opened as { tasksAfter: unknown; client?: unknown };
  return key === client.key && typeof tasksAfter === 'number' ? tasksAfter : undefined;
}

/** Some at a time: a list must not take all places of a server. */
async function descriptions(
  gateway: Gateway,
  incoming: Incoming,
  tasks: readonly BegunTask[],
): Promise<readonly ShownTask[]> {
  const found: ShownTask[] = [];
  const find = async (task: BegunTask) => ({
    task,
    text: await descriptionOf(gateway, incoming, task),
  });
  for (let at = 0; at < tasks.length; at += parallel) {
    for (const { task, text } of await Promise.all(tasks.slice(at, at + parallel).map(find))) {
      if (text) found.push({ task, text });
    }
  }
  return found;
}

interface ShownTask {
  readonly task: BegunTask;
  readonly text: Buffer;
}

/** As it is now; undefined for one that its server no longer knows. */
async function descriptionOf(
  { host, handles }: Gateway,
  incoming: Incoming,
  task: BegunTask,
): Promise<Buffer | undefined> {
  try {
    if (!task.isOver) await describe(host, incoming, task);
  } catch (thrown) {
    // Its server says that there is none; any other error leaves what was known before.
    if (faultFrom(thrown).cause instanceof RpcAnswer) return undefined;
  }
  const { description } = task;
  const object = description && objectAt(description, { start: 0, end: description.length });
  if (!object) return undefined;
  const taskId = JSON.stringify(handles.sessionHandle(task));
  const named = memberEdits(object, { taskId, _meta: null, resultType: null });
  return oneLine(splice(description, named));
}

async function describe(host: Gateway['host'], incoming: Incoming, task: BegunTask): Promise<void> {
  const { server, taskId, place } = task;
  const params = { members: `"taskId":${JSON.stringify(taskId)}` };
  const { frame, object } = await host.carry({
    principal: incoming.principal,
    server,
    operation: { method: 'tasks/get', kind: 'other', name: taskId, args: '{}', params },
    about: toolOf(task),
    signal: incoming.cancelSignal,
    caller: incoming,
    timeoutMs: describeMs,
    slot: place.slot,
    task,
  });
  const said = described(frame, object);
  if (said) host.tasks.heard(task, said);
}

function joined(pieces: readonly Buffer[]): Buffer {
  return Buffer.concat(pieces.flatMap((piece, at) => (at > 0 ? [comma, piece] : [piece])));
}

const comma = Buffer.from(',');
