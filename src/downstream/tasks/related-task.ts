// Messages of a server about a task name the task by the server's own id (`related-task` in
// `_meta`); the client has its own handle, or none where the gateway follows the task for it.
// `task` is removed from a server's request to its client: the gateway does not declare tasks of
// clients, so the member must be ignored.

import { relatedTask } from '../../host/tasks/task-result.ts';
import { envelopeKeys } from '../../wire/eras.ts';
import { answerWith } from '../../wire/frames.ts';
import { memberEdits } from '../../wire/member-edits.ts';
import { objectAt } from '../../wire/parts.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import type { ObjectSpan } from '../../wire/span.ts';
import { type Edit, splice } from '../../wire/splice.ts';

const related = envelopeKeys.relatedTask;

/** From one side's id of a task to the other's; undefined: the other side knows no such task. */
export type Rename = (taskId: string) => string | undefined;

/** The tasks of one server that one client knows. */
export interface KnownTasks {
  readonly handleOf: Rename;
  readonly idOf: Rename;
}

/** A server's message for its client; the same message if there is nothing to change. */
export function asTheClientKnowsIt(message: Message, rename: Rename): Message {
  const { bytes, paramsObject, meta, kind } = message;
  const isWish = kind === 'request' && paramsObject?.find('task') !== undefined;
  const taskId = relatedTask(message);
  if (!isWish && taskId === undefined) return message;
  const edits: Edit[] = [
    ...(isWish && paramsObject ? memberEdits(paramsObject, { task: null }) : []),
    ...(taskId !== undefined && meta ? renaming(bytes, meta, rename(taskId)) : []),
  ];
  return scanMessage(splice(bytes, edits));
}

/** A client's result for the server. */
export function asTheServerKnowsIt(json: string | Buffer, rename: Rename): string | Buffer {
  const bytes = Buffer.from(json as string);
  if (!bytes.includes(related)) return json;
  const result = objectAt(bytes, { start: 0, end: bytes.length });
  const span = result?.find('_meta');
  const meta = span && objectAt(bytes, span);
  if (!meta) return json;
  const taskId = relatedTask(answerWith('result', bytes));
  return taskId === undefined ? json : splice(bytes, renaming(bytes, meta, rename(taskId)));
}

function renaming(bytes: Buffer, meta: ObjectSpan, other: string | undefined): Edit[] {
  const about = meta.find(related);
  const id = about && objectAt(bytes, about)?.find('taskId');
  if (other === undefined || !id) return memberEdits(meta, { [related]: null });
  return [{ start: id.start, end: id.end, with: JSON.stringify(other) }];
}
