// Writing requests and notifications around parameters that are already JSON text. Nothing that is
// carried is parsed or spelled anew; only the envelope is ours.

import type { Params } from './connection.ts';

/** A request, without a line end. `envelope` holds the members of `_meta` that we add. */
export function requestText(
  id: number,
  method: string,
  params: Params,
  envelope: string,
): string | Buffer {
  return around(`{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}`, params, envelope);
}

/** A notification, without a line end. */
export function notificationText(
  method: string,
  params: Params,
  envelope: string,
): string | Buffer {
  return around(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}`, params, envelope);
}

/** Our own token for a request's progress is its id: one number to match, one place to look. */
export function withProgress(envelope: string, id: number): string {
  const token = `"progressToken":${id}`;
  return envelope === '' ? token : `${envelope},${token}`;
}

function around(head: string, params: Params, envelope: string): string | Buffer {
  const { members, meta } = params;
  const opening = `${head},"params":{`;
  if (typeof meta === 'object') return aroundBytes(opening, members, envelope, meta);
  const metaMembers = meta ? (envelope === '' ? meta : `${envelope},${meta}`) : envelope;
  const comma = members.length > 0 && metaMembers !== '' ? ',' : '';
  const closing = metaMembers === '' ? '}}' : `${comma}"_meta":{${metaMembers}}}}`;
  if (typeof members === 'string') return opening + members + closing;
  return Buffer.concat([Buffer.from(opening), members, Buffer.from(closing)]);
}

/** The same for members of `_meta` that are carried as the client wrote them. */
function aroundBytes(
  opening: string,
  members: string | Buffer,
  envelope: string,
  meta: Buffer,
): Buffer {
  const comma = members.length > 0 ? ',' : '';
  const inner = envelope !== '' && meta.length > 0 ? `${envelope},` : envelope;
  const carried = typeof members === 'string' ? Buffer.from(members) : members;
  const middle = Buffer.from(`${comma}"_meta":{${inner}`);
  return Buffer.concat([Buffer.from(opening), carried, middle, meta, metaEnd]);
}

const metaEnd = Buffer.from('}}}');

/** The same text as one line of a stream. */
export function asLine(text: string | Buffer): string | Buffer {
  return typeof text === 'string' ? `${text}\n` : Buffer.concat([text, lineEnd]);
}

const lineEnd = Buffer.from('\n');
