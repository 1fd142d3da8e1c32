// What a client can be asked. A legacy client says it once, in `initialize`, a modern one in every
// request; servers of both eras have to hear it in the words of theirs. Whether a question may be
// put to a client is decided here, by what it has declared and nothing else.

import { ownValue } from '../../kernel/own-value.ts';
import { textOf } from '../../wire/decode.ts';
import { objectAt } from '../../wire/parts.ts';

type Declared = Readonly<Record<string, unknown>>;

export class ClientCapabilities {
  /** As a modern server is told it: JSON. */
  readonly modernText: string;
  readonly #declared: Declared;

  constructor(declared: unknown) {
    this.#declared = isObject(declared) ? declared : {};
    this.modernText = JSON.stringify(inModernWords(this.#declared));
  }

  get hasRoots(): boolean {
    return isObject(this.#declared['roots']);
  }

  hasExtension(name: string): boolean {
    const extensions = this.#declared['extensions'];
    return isObject(extensions) && isObject(ownValue(extensions, name));
  }

  get elicitsByAddress(): boolean {
    const elicitation = this.#declared['elicitation'];
    return isObject(elicitation) && isObject(elicitation['url']);
  }

  /** May this be asked? What we have never heard of may be, if nothing forbids it. */
  allows(method: string, params: Buffer | undefined): boolean {
    if (method === 'roots/list') return this.hasRoots;
    if (method === 'sampling/createMessage') return isObject(this.#declared['sampling']);
    if (method === 'elicitation/create') return this.#elicits(params);
    // No question becomes a task of the client's (see tasks/related-task): there is none to ask about.
    if (method.startsWith('tasks/')) return false;
    return true;
  }

  /** `elicitation: {}` is the form alone. */
  #elicits(params: Buffer | undefined): boolean {
    const elicitation = this.#declared['elicitation'];
    if (!isObject(elicitation)) return false;
    if (elicitationMode(params) === 'url') return isObject(elicitation['url']);
    return isObject(elicitation['form']) || !isObject(elicitation['url']);
  }
}

/** `form` where it does not say. */
export function elicitationMode(params: Buffer | undefined): string {
  if (params === undefined) return 'form';
  const span = objectAt(params, { start: 0, end: params.length })?.find('mode');
  return (span && textOf(params, span)) ?? 'form';
}

function inModernWords(declared: Declared): Declared {
  const { sampling, elicitation, roots, experimental, extensions } = declared;
  return {
    ...(isObject(sampling) ? { sampling } : {}),
    ...(isObject(elicitation)
      ? { elicitation: Object.keys(elicitation).length === 0 ? { form: {} } : elicitation }
      : {}),
    ...(isObject(roots) ? { roots: {} } : {}),
    ...(isObject(experimental) ? { experimental } : {}),
    ...(isObject(extensions) ? { extensions } : {}),
  };
}

function isObject(value: unknown): value is Declared {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
