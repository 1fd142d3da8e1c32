// Decides whether two uses of one idempotency key are the same request: the server, the method and
// every parameter that is sent, compared by tokens, so that spacing and key order do not matter and
// big numbers stay different. `_meta` is not part of it: its content (tokens, traces) is about the
// transmission, and differs when a client sends again.

import { hash } from 'node:crypto';
import { canonicalText } from '../../wire/canonical.ts';
import type { CallRequest } from './call-parts.ts';
import { ownParams } from './outgoing.ts';

/** `folder` is where the server runs, if that is its client's: elsewhere it is another request. */
export function callFingerprint(
  { server, operation, takesTask }: CallRequest,
  folder?: string,
): string {
  const { members } = ownParams(operation, undefined);
  const pieces = typeof members === 'string' || Buffer.isBuffer(members) ? [members] : members;
  const bytes = Buffer.concat(['{', ...pieces, '}'].map((piece) => Buffer.from(piece)));
  // Parameters with duplicate keys have no canonical form: then only the same bytes are the same.
  const text = canonicalText(bytes) ?? bytes.toString('base64');
  const where = folder === undefined ? [] : [folder];
  return hash('sha256', JSON.stringify([server, operation.method, text, takesTask, ...where]));
}
