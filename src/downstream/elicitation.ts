// The one difference between the eras in what an elicitation by address says: a legacy client needs
// an id for it, a modern server gives none.

import { randomUUID } from 'node:crypto';
import { memberEdits } from '../wire/member-edits.ts';
import { objectAt } from '../wire/parts.ts';
import { splice } from '../wire/splice.ts';

export function withElicitationId(params: Buffer): Buffer {
  const object = objectAt(params, { start: 0, end: params.length });
  if (!object || object.find('elicitationId')) return params;
  const id = JSON.stringify(randomUUID());
  return splice(params, memberEdits(object, { elicitationId: id }));
}
