// Tool definitions for a legacy client. It rejects a whole list if one tool's output is described
// as anything but an object; such a schema is put inside one, and so is the tool's output (see
// results). Everything else in a definition stays as the server wrote it.

import type { Definition } from '../../catalog/definitions.ts';
import type { Tool } from '../../catalog/tool.ts';
import { objectAt } from '../../wire/parts.ts';
import { splice } from '../../wire/splice.ts';

/** Whether it describes an output that a legacy client cannot read. */
export function hasForeignOutput({ definition }: Tool): boolean {
  const { outputSchema } = definition;
  if (typeof outputSchema !== 'object' || outputSchema === null) return outputSchema !== undefined;
  return (outputSchema as { type?: unknown }).type !== 'object';
}

/** The same definition unless it has to be changed. */
export function legacyDefinition(original: Definition): Definition {
  const { bytes, start, end, tool, keySpan } = original;
  if (!tool || !hasForeignOutput(tool)) return original;
  const schema = objectAt(bytes, { start, end })?.find('outputSchema');
  if (!schema) return original;
  const head = '{"type":"object","properties":{"result":';
  const tail = '},"required":["result"]}';
  const wrapping = [
    { start: schema.start - start, end: schema.start - start, with: head },
    { start: schema.end - start, end: schema.end - start, with: tail },
  ];
  const wrapped = splice(bytes.subarray(start, end), wrapping);
  const isAfter = keySpan.start > schema.start;
  const shift = (isAfter ? head.length + tail.length : 0) - start;
  const key = { start: keySpan.start + shift, end: keySpan.end + shift };
  return { ...original, bytes: wrapped, start: 0, end: wrapped.length, keySpan: key };
}
