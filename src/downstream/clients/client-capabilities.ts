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
  readonly hasRoots: boolean;
  readonly #hasSampling: boolean;
  readonly #elicitsByForm: boolean;
  readonly elicitsByAddress: boolean;

  /** What was declared is not kept beside its text: as values it can take many times as much memory. */
  constructor(declared: unknown) {
    const all: Declared = isRecord(declared) ? declared : {};
    this.modernText = JSON.stringify(inModernWords(all));
    this.hasRoots = isRecord(all['roots']);
    this.#hasSampling = isRecord(all['sampling']);
    const elicitation = all['elicitation'];
    this.elicitsByAddress = isRecord(elicitation) && isRecord(elicitation['url']);
    // `elicitation: {}` is the form alone.
    this.#elicitsByForm =
      isRecord(elicitation) && (isRecord(elicitation['form']) || !this.elicitsByAddress);
  }

  hasExtension(name: string): boolean {
    const { extensions } = JSON.parse(this.modernText) as Declared;
    return isRecord(extensions) && isRecord(ownValue(extensions, name));
  }

  /** Whether this request may be sent. An unknown one may, if nothing forbids it. */
  allows(method: string, params: Buffer | undefined): boolean {
    if (method === 'roots/list') return this.hasRoots;
    if (method === 'sampling/createMessage') return this.#hasSampling;
    if (method === 'elicitation/create') {
      return elicitationMode(params) === 'url' ? this.elicitsByAddress : this.#elicitsByForm;
    }
    // No request becomes a task of the client (see tasks/related-task): the gateway does not follow
    // such tasks.
    if (method.startsWith('tasks/')) return false;
    return true;
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
