// `execution.taskSupport` (2025-11-25) of tools, as it holds for the gateway. A tool that its
// server runs only as a task can be called either way here, because the gateway follows the task
// for clients that cannot (host/tasks/task-wait): `required` becomes `optional`. A tool whose
// server has no tasks cannot be called as one, whatever it declares. The modern era has no such
// member, so it is removed for modern clients.

import type { Definition } from '../../catalog/definitions.ts';
import { taskSupport } from '../../host/tasks/task-result.ts';
import type { Era } from '../../wire/eras.ts';
import { memberEdits } from '../../wire/member-edits.ts';
import { objectAt } from '../../wire/parts.ts';
import { type Edit, splice } from '../../wire/splice.ts';

/** The same definition unless it has to be changed. */
export function taskDefinition(
  original: Definition,
  era: Era,
  hasTasks: boolean | undefined,
): Definition {
  const support = original.tool && taskSupport(original.tool.definition);
  if (support === undefined) return original;
  const isTrue = support === 'forbidden' || (support === 'optional' && hasTasks !== false);
  if (era === 'legacy' && isTrue) return original;
  const { bytes, start, end } = original;
  const object = objectAt(bytes, { start, end });
  if (!object) return original;
  if (era === 'modern') return edited(original, memberEdits(object, { execution: null }));
  const execution = object.find('execution');
  const word = execution && objectAt(bytes, execution)?.find('taskSupport');
  if (!word) return original;
  const truth = hasTasks === false ? '"forbidden"' : '"optional"';
  return edited(original, [{ start: word.start, end: word.end, with: truth }]);
}

/** Positions after an edit are shifted. */
function edited(original: Definition, edits: readonly Edit[]): Definition {
  const { bytes, start, end, keySpan } = original;
  const shifted = edits.map((edit) => ({
    start: edit.start - start,
    end: edit.end - start,
    with: edit.with,
  }));
  const before = shifted.filter((edit) => edit.end <= keySpan.start - start);
  const grown = before.reduce((sum, edit) => sum + edit.with.length - (edit.end - edit.start), 0);
  const key = { start: keySpan.start - start + grown, end: keySpan.end - start + grown };
  const changed = splice(bytes.subarray(start, end), shifted);
  return { ...original, bytes: changed, start: 0, end: changed.length, keySpan: key };
}
