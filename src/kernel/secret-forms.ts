// The forms in which a secret value can appear in a text, besides escapes, which text-views.ts
// undoes: as it is, line by line, and in Base64. In the Base64 of a longer text a value begins at
// one of three places of a group of four characters, and its first and last character may have bits
// of its neighbours; so each of the three has a form without those, and says where they are.

export interface SecretForm {
  readonly text: string;
  /** A character of Base64 before it has bits of the value, too. */
  readonly hasHead: boolean;
  /** The same behind it, and perhaps the signs that fill up the last group. */
  readonly hasTail: boolean;
}

/** A shorter value is not a serious secret, and occurs in ordinary words. */
export const shortestSecret = 6;

export function* formsOf(value: string): Generator<SecretForm> {
  if (value.length >= shortestSecret) {
    yield plain(value);
    yield* inBase64(value);
  }
  if (!value.includes('\n')) return;
  for (const line of value.split(/\r?\n/)) {
    const text = line.trim();
    if (text.length >= shortestSecret) yield plain(text);
  }
}

function plain(text: string): SecretForm {
  return { text, hasHead: false, hasTail: false };
}

function* inBase64(value: string): Generator<SecretForm> {
  const bytes = Buffer.from(value, 'utf8');
  for (const before of [0, 1, 2]) {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]);
    const signs = whole.toString('base64url');
    const hasTail = whole.length % 3 !== 0;
    const hasHead = before > 0;
    const text = signs.slice(before === 0 ? 0 : before + 1, hasTail ? -1 : undefined);
    if (text.length < shortestSecret) continue;
    yield { text, hasHead, hasTail };
    const other = text.replaceAll('-', '+').replaceAll('_', '/');
    if (other !== text) yield { text: other, hasHead, hasTail };
  }
}
