// completion/complete: values for an argument of a prompt or of a resource template. Which of the two is meant
// is what `type` of the reference says; a reference with the member of the other kind is refused, because a
// server might read that one.

import { textOf } from '../wire/decode.ts';
import { objectAt } from '../wire/parts.ts';
import type { Member, ObjectSpan } from '../wire/span.ts';
import { assertOneReading } from './decided-members.ts';
import type { Gateway } from './gateway.ts';
import type { Incoming } from './incoming.ts';
import { invalidParams } from './refusals.ts';
import { noteUnknown } from './unknown-request.ts';

const asked = { action: 'complete', method: 'completion/complete' } as const;

interface Reference {
  readonly kind: 'prompt' | 'resource';
  /** As the client wrote it: a name or an address. */
  readonly name: string;
  /** Where that stands. */
  readonly place: Member;
}

export async function complete(gateway: Gateway, incoming: Incoming): Promise<void> {
  const { bytes, paramsObject } = incoming.message;
  const span = paramsObject?.find('ref');
  const ref = span && objectAt(bytes, span);
  assertOneReading(bytes, ref);
  const reference = ref && readReference(bytes, ref);
  if (!reference) return incoming.error(invalidParams(forms));
  const { kind, name, place } = reference;
  const owner = await ownerOf(gateway, incoming, reference);
  if (!owner) {
    incoming.error(invalidParams(`unknown ${kind} ${name}`));
    return noteUnknown(gateway, incoming, kind, name);
  }
  gateway.relay.carry(incoming, {
    server: owner.server,
    kind: 'other',
    name: null,
    about: { kind, name: owner.name },
    edits: [{ start: place.start, end: place.end, with: JSON.stringify(owner.name) }],
  });
}

const forms =
  'ref must be { type: "ref/prompt", name } or { type: "ref/resource", uri }, and have only one of name and uri';

/** Undefined: it can be read in two ways, or not at all. */
function readReference(bytes: Buffer, ref: ObjectSpan): Reference | undefined {
  const typeSpan = ref.find('type');
  const type = typeSpan && textOf(bytes, typeSpan);
  const [name, uri] = [ref.find('name'), ref.find('uri')];
  if (type === 'ref/prompt' && uri === undefined) return reference('prompt', bytes, name);
  if (type === 'ref/resource' && name === undefined) return reference('resource', bytes, uri);
  return undefined;
}

function reference(
  kind: Reference['kind'],
  bytes: Buffer,
  place: Member | undefined,
): Reference | undefined {
  const name = place && textOf(bytes, place);
  return place === undefined || name === undefined ? undefined : { kind, name, place };
}

async function ownerOf(
  gateway: Gateway,
  incoming: Incoming,
  { kind, name }: Reference,
): Promise<{ readonly server: string; readonly name: string } | undefined> {
  const { prompts, resources } = gateway.view.of(incoming.principal);
  if (kind === 'prompt') return prompts.find(name, incoming, asked);
  const owner = await resources.ownerOf(name, incoming, asked);
  return owner && { server: owner.server, name: owner.uri };
}
