// Translates a server's result to the client's era. A modern client requires `resultType` in every
// result, and cache hints where the specification asks for them; a legacy one does not know
// `resultType`, and can read structured content only if it is an object: any other value is put
// into one, as is its schema in the list. Nothing else is changed, and where nothing is missing the
// bytes are the server's.

import type { Answer } from '../../host/call/answer.ts';
import { isText } from '../../wire/decode.ts';
import type { Era } from '../../wire/eras.ts';
import { type MemberChanges, memberEdits } from '../../wire/member-edits.ts';
import { type Edit, oneLine, splice } from '../../wire/splice.ts';

/** The result as this client reads it, on one line. */
export function resultFor(
  era: Era,
  method: string,
  answer: Answer,
  wrapsOutput: () => boolean,
): Buffer {
  const { frame, result, object } = answer;
  const changes =
    object &&
    (era === 'modern' ? modernChanges(method, answer) : legacyChanges(answer, wrapsOutput));
  if (!object || !changes) return oneLine(frame.subarray(result.start, result.end));
  return changedResult(answer, changes);
}

/** The result with members set or removed, on one line. */
export function changedResult(answer: Answer, changes: MemberChanges): Buffer {
  return editedResult(answer, answer.object ? memberEdits(answer.object, changes) : []);
}

/** The result with edits at places of its frame, on one line. */
export function editedResult({ frame, result }: Answer, edits: readonly Edit[]): Buffer {
  const shifted = edits.map((edit) => ({
    start: edit.start - result.start,
    end: edit.end - result.start,
    with: edit.with,
  }));
  return oneLine(splice(frame.subarray(result.start, result.end), shifted));
}

/**
 * Whether the server asks for more input instead of answering. A legacy one cannot, in a result.
 */
export function asksForInput({ frame, object }: Answer): boolean {
  const type = object?.find('resultType');
  return type !== undefined && isText(frame, type, 'input_required');
}

/** Their results say how long they hold. */
const hintedMethods: ReadonlySet<string> = new Set([
  'resources/read',
  'resources/directory/read',
  'skills/get',
]);

function modernChanges(method: string, { object }: Answer): MemberChanges | undefined {
  const lacksType = object?.find('resultType') === undefined;
  const isHinted = hintedMethods.has(method);
  if (!lacksType) return undefined;
  return {
    resultType: '"complete"',
    ...(isHinted && object?.find('ttlMs') === undefined ? { ttlMs: '0' } : {}),
    ...(isHinted && object?.find('cacheScope') === undefined ? { cacheScope: '"private"' } : {}),
  };
}

function legacyChanges(
  { frame, object }: Answer,
  wrapsOutput: () => boolean,
): MemberChanges | undefined {
  const hasType = object?.find('resultType') !== undefined;
  const output = object?.find('structuredContent');
  const isWrapped = output !== undefined && (frame[output.start] !== openBrace || wrapsOutput());
  if (!hasType && !isWrapped) return undefined;
  return {
    ...(hasType ? { resultType: null } : {}),
    ...(isWrapped ? { structuredContent: wrapped(frame.subarray(output.start, output.end)) } : {}),
  };
}

const openBrace = 0x7b;

function wrapped(value: Buffer): Buffer {
  return Buffer.concat([Buffer.from('{"result":'), value, Buffer.from('}')]);
}
