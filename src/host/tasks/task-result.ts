// A task as a server describes it, in either era: whether an answer is a task or a result, its id,
// its state, and how long it is kept. The tasks of 2025-11-25 are requested with `task` in the
// call; those of the modern extension are the server's own decision. Only the members that
// decisions need are read here; the rest is forwarded unchanged.

import { isRecord } from '../../kernel/json-values.ts';
import { ownValue } from '../../kernel/own-value.ts';
import type { Connection, Greeting } from '../../upstream/connection.ts';
import { isText, numberOf, textOf } from '../../wire/decode.ts';
import { type Era, envelopeKeys, extensionNames } from '../../wire/eras.ts';
import { headerValue } from '../../wire/mirrored-headers.ts';
import { objectAt } from '../../wire/parts.ts';
import type { Message } from '../../wire/scan.ts';
import type { ObjectSpan } from '../../wire/span.ts';

/** The members that describe a task, and their positions. */
export interface DescribedTask {
  readonly bytes: Buffer;
  readonly object: ObjectSpan;
  readonly taskId: string;
  readonly status: string;
  /** How long the server keeps it, from its creation; undefined where it does not say, or says for ever. */
  readonly livesMs: number | undefined;
}

/** The task that this answer to a call is, if it is one. */
export function taskIn(
  era: Era,
  bytes: Buffer,
  result: ObjectSpan | undefined,
): DescribedTask | undefined {
  if (result === undefined) return undefined;
  if (era === 'modern') {
    const type = result.find('resultType');
    return type && isText(bytes, type, 'task') ? described(bytes, result) : undefined;
  }
  const task = result.find('task');
  // A tool's own result has content; other members of it belong to the tool.
  if (task === undefined || result.find('content') !== undefined) return undefined;
  return described(bytes, objectAt(bytes, task));
}

/** The task in an object; undefined if it names none. */
export function described(
  bytes: Buffer,
  object: ObjectSpan | undefined,
): DescribedTask | undefined {
  const id = object?.find('taskId');
  const taskId = id && textOf(bytes, id);
  if (object === undefined || taskId === undefined) return undefined;
  const status = object.find('status');
  const lives = object.find('ttl') ?? object.find('ttlMs');
  return {
    bytes,
    object,
    taskId,
    status: (status && textOf(bytes, status)) ?? 'working',
    livesMs: lives && numberOf(bytes, lives),
  };
}

/** Whether this state is final. */
export function isTerminal(status: string): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** The task that a request or notification says it belongs to (`related-task`). */
export function relatedTask({ bytes, meta }: Message): string | undefined {
  const related = meta?.find(envelopeKeys.relatedTask);
  const id = related && objectAt(bytes, related)?.find('taskId');
  return id && textOf(bytes, id);
}

/** Whether this server declares that its tools can be called as tasks of 2025-11-25. */
export function hasTaskCalls(greeting: Greeting | undefined): boolean {
  const tools = member(member(member(greeting?.capabilities, 'tasks'), 'requests'), 'tools');
  return isRecord(member(tools, 'call'));
}

/** Has this server the modern extension? */
export function hasTasksExtension(greeting: Greeting | undefined): boolean {
  return isRecord(member(member(greeting?.capabilities, 'extensions'), extensionNames.tasks));
}

function member(of: unknown, key: string): unknown {
  return isRecord(of) ? ownValue(of, key) : undefined;
}

/** How a tool wants to be called (`execution.taskSupport`). */
export function taskSupport(definition: Readonly<Record<string, unknown>>): unknown {
  return member(member(definition, 'execution'), 'taskSupport');
}

/** A request about a task names it in a header, where headers are read: by a modern remote server. */
export function taskHeaders(
  { child, era }: Pick<Connection, 'child' | 'era'>,
  taskId: string,
): Readonly<Record<string, string>> {
  return child === undefined && era === 'modern' ? { 'mcp-name': headerValue(taskId) } : {};
}
