// Which requests a client accepts. A legacy client declares it once, in `initialize`, a modern one
// in every request; servers of both eras have to get it in the form of their era. Whether a request
// may be sent to a client is decided here, only by what it has declared.

import { isRecord } from '../../kernel/json-values.ts';
import { ownValue } from '../../kernel/own-value.ts';
import { textOf } from '../../wire/decode.ts';
import { objectAt } from '../../wire/parts.ts';

type Declared = Readonly<Record<string, unknown>>;

export class ClientCapabilities {
  /** In the form for a modern server: JSON. */
  readonly modernText: string;
  readonly #declared: Declared;

  constructor(declared: unknown) {
    this.#declared = isRecord(declared) ? declared : {};
    this.modernText = JSON.stringify(inModernWords(this.#declared));
  }

  get hasRoots(): boolean {
    return isRecord(this.#declared['roots']);
  }

  hasExtension(name: string): boolean {
    const extensions = this.#declared['extensions'];
    return isRecord(extensions) && isRecord(ownValue(extensions, name));
  }

  get elicitsByAddress(): boolean {
    const elicitation = this.#declared['elicitation'];
    return isRecord(elicitation) && isRecord(elicitation['url']);
  }

  /** Whether this request may be sent. An unknown one may, if nothing forbids it. */
  allows(method: string, params: Buffer | undefined): boolean {
    if (method === 'roots/list') return this.hasRoots;
    if (method === 'sampling/createMessage') return isRecord(this.#declared['sampling']);
    if (method === 'elicitation/create') return this.#elicits(params);
    // No request becomes a task of the client (see tasks/related-task): the gateway does not follow
    // such tasks.
    if (method.startsWith('tasks/')) return false;
    return true;
  }

  /** `elicitation: {}` is the form alone. */
  #elicits(params: Buffer | undefined): boolean {
    const elicitation = this.#declared['elicitation'];
    if (!isRecord(elicitation)) return false;
    if (elicitationMode(params) === 'url') return isRecord(elicitation['url']);
    return isRecord(elicitation['form']) || !isRecord(elicitation['url']);
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
    ...(isRecord(sampling) ? { sampling } : {}),
    ...(isRecord(elicitation)
      ? { elicitation: Object.keys(elicitation).length === 0 ? { form: {} } : elicitation }
      : {}),
    ...(isRecord(roots) ? { roots: {} } : {}),
    ...(isRecord(experimental) ? { experimental } : {}),
    ...(isRecord(extensions) ? { extensions } : {}),
  };
}
