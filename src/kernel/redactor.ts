// Replaces known secret values in a text by their names. The stderr of a server, and errors about a
// command or an address, are shown to people and stored on disk, so they must not contain
// passwords. The name in place of a value tells the reader what was there. Only known values can be
// found; `config/secrets.ts` decides which those are. They are found as they are, in Base64, and
// escaped as in JSON or an address. A value in several pieces, or in another encoding, is not.

import { Fault } from './fault.ts';
import { KnownTexts } from './known-texts.ts';
import { formsOf, type SecretForm, shortestSecret } from './secret-forms.ts';
import { placeIn, type View, viewsOf, withoutPartialEscape } from './text-views.ts';

export interface Secret {
  /** The replacement, such as `env API_KEY`. */
  readonly name: string;
  readonly value: string;
}

/**
 * The access tokens of the gateway itself: their values are not stored, but their format is known.
 */
const ownToken = /hf[wo]?_[A-Za-z0-9_-]{40,}/g;

const begunToken = /hf[wo]?_[A-Za-z0-9_-]*$/;

interface Form extends SecretForm {
  readonly name: string;
}

/** A part of a text, and what stands there. */
interface Range {
  readonly from: number;
  readonly to: number;
  readonly name: string;
}

export class Redactor {
  /** One for each form of each secret of one server's config; made once. */
  readonly #forms = new Map<string, Form>();
  readonly #secrets: readonly Secret[];
  #known: KnownTexts | undefined;

  constructor(secrets: Iterable<Secret> = []) {
    this.#secrets = [...secrets];
  }

  /** Knows the secrets of all of these, and looks for them at once. */
  static joined(redactors: readonly Redactor[]): Redactor {
    return new Redactor(redactors.flatMap((one) => one.#secrets));
  }

  text(text: string): string {
    return replaced(text, this.#rangesIn(text));
  }

  /** The same for a text whose end was cut off: there may be the beginning of a secret. */
  cut(text: string): string {
    const whole = withoutPartialEscape(text).replace(begunToken, '');
    let end = whole.length;
    for (const view of viewsOf(whole)) {
      const begun = this.#texts.begunAtEnd(view.text);
      if (begun < view.text.length) end = Math.min(end, placeIn(view, Math.max(0, begun - 1)));
    }
    return this.text(whole.slice(0, end));
  }

  /** The same for all text in a fault that is ours or comes from stderr. */
  fault(fault: Fault): Fault {
    // The server's own error is its answer to the caller and is forwarded unchanged.
    if (fault.code === 'rpc_error') return fault;
    const { code, detail, stderr, ...facts } = fault.record;
    const shown = this.text(detail);
    const lines = stderr === undefined ? {} : { stderr: this.text(stderr) };
    if (shown === detail && lines.stderr === stderr) return fault;
    return new Fault(code, shown, { ...facts, ...lines }, fault.cause);
  }

  /** Made when it is first needed: most servers never say anything. */
  get #texts(): KnownTexts {
    if (this.#known !== undefined) return this.#known;
    for (const { name, value } of this.#secrets) {
      for (const form of formsOf(value)) {
        if (!this.#forms.has(form.text)) this.#forms.set(form.text, { ...form, name });
      }
    }
    this.#known = new KnownTexts(this.#forms.keys(), shortestSecret);
    return this.#known;
  }

  #rangesIn(text: string): readonly Range[] {
    const ranges: Range[] = [];
    for (const found of text.matchAll(ownToken)) {
      ranges.push({ from: found.index, to: found.index + found[0].length, name: 'access token' });
    }
    const known = this.#texts;
    if (this.#forms.size === 0) return ranges;
    for (const view of viewsOf(text)) {
      known.search(view.text, (at, form) => {
        const range = this.#rangeOf(view, at, form);
        if (range) ranges.push(range);
      });
    }
    return ranges;
  }

  #rangeOf(view: View, at: number, found: string): Range | undefined {
    const form = this.#forms.get(found);
    if (form === undefined) return undefined;
    const { text } = view;
    const from = form.hasHead && isBase64(text[at - 1]) ? at - 1 : at;
    let to = at + found.length;
    if (form.hasTail && isBase64(text[to])) {
      to += 1;
      for (let signs = 0; signs < 2 && text[to] === '='; signs += 1) to += 1;
    }
    return { from: placeIn(view, from), to: placeIn(view, to), name: form.name };
  }
}

function isBase64(sign: string | undefined): boolean {
  return sign !== undefined && /[A-Za-z0-9+/_-]/.test(sign);
}

/** Where ranges overlap they are one, with the name of the first; of several, of the longest. */
function replaced(text: string, ranges: readonly Range[]): string {
  if (ranges.length === 0) return text;
  const sorted = [...ranges].sort((one, other) => one.from - other.from || other.to - one.to);
  const pieces: string[] = [];
  let done = 0;
  for (const { from, to, name } of sorted) {
    if (from >= done) pieces.push(text.slice(done, from), `[${name}]`);
    done = Math.max(done, to);
  }
  pieces.push(text.slice(done));
  return pieces.join('');
}
