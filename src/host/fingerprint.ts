// What makes two uses of one idempotency key the same request: server, method, name and arguments, the
// arguments compared by their tokens, so that spacing and key order do not matter and big numbers
// never meet.

import { hash } from 'node:crypto';
import { canonicalText } from '../wire/canonical.ts';
import type { CallRequest } from './call-parts.ts';

export function fingerprintOf({ server, operation, takesTask }: CallRequest): string {
  const { method, name, args } = operation;
  const bytes = typeof args === 'string' ? Buffer.from(args) : args;
  // Arguments with duplicate keys have no canonical form: then only the same bytes are the same.
  const text = canonicalText(bytes) ?? bytes.toString('base64');
  return hash('sha256', JSON.stringify([server, method, name, text, takesTask]));
}
