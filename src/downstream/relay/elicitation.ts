// Elicitation by URL, where the eras differ: a legacy client needs an id for each, a modern server
// gives none; and a legacy server may refuse a call with a list of URLs to visit first, which for a
// modern client is a request for input like any other.

import { randomUUID } from 'node:crypto';
import { isRecord } from '../../kernel/json-values.ts';
import { memberEdits } from '../../wire/member-edits.ts';
import { objectAt } from '../../wire/parts.ts';
import { splice } from '../../wire/splice.ts';

export function withElicitationId(params: Buffer): Buffer {
  const object = objectAt(params, { start: 0, end: params.length });
  if (!object || object.find('elicitationId')) return params;
  const id = JSON.stringify(randomUUID());
  return splice(params, memberEdits(object, { elicitationId: id }));
}

/** The addresses in such a refusal as `inputRequests`: JSON. Undefined if there are none. */
export function addressRequests(data: unknown): string | undefined {
  const listed = isRecord(data) ? data['elicitations'] : undefined;
  const elicitations = Array.isArray(listed) ? listed.filter(isRecord) : [];
  if (elicitations.length === 0) return undefined;
  const requests = elicitations.map(({ elicitationId: _id, ...params }, index) => [
    `url${index + 1}`,
    { method: 'elicitation/create', params: { mode: 'url', ...params } },
  ]);
  return JSON.stringify(Object.fromEntries(requests));
}
