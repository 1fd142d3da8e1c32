// URI templates (RFC 6570), as far as routing needs them: can this URI be an expansion of this
// template, and can two templates give the same URI? Both functions rather answer yes than miss a
// case: the literals must be there, in order, and the slashes must add up, while an expression may
// have become any text. The template comes from a server and the URI from a client, so neither may
// be expensive: sizes are bounded, and every comparison reads the text once.

import { percentEncoded } from './rewritten-uri.ts';

/** A longer template is not judged: real ones are much shorter. */
const maxTemplateLength = 1_024;
/** A longer URI matches no template. */
const maxUriLength = 4_096;

export interface UriTemplate {
  /** The text before, between and after the expressions: one more than there are expressions. */
  readonly literals: readonly string[];
  /** The slashes in the literals, and whether expressions can add to them. */
  readonly slashes: number;
  readonly holdsMore: boolean;
}

/** Undefined if it is too large to be judged. Braces that do not pair up are literals. */
export function templateFrom(text: string): UriTemplate | undefined {
  if (text.length > maxTemplateLength) return undefined;
  const expression = /\{[^{}]*\}/g;
  const literals = text.split(expression).map(encoded);
  return {
    literals,
    slashes: slashesIn(literals.join('')),
    holdsMore: (text.match(expression) ?? []).some(mayHoldSlash),
  };
}

/** A URI prepared for comparison; undefined if it is too long to match any template. */
export function comparable(uri: string): string | undefined {
  return uri.length > maxUriLength ? undefined : encoded(uri);
}

/** Could the URI (made comparable) be an expansion of one of the templates? */
export function matchesOne(templates: Iterable<UriTemplate>, uri: string): boolean {
  for (const template of templates) if (matches(template, uri)) return true;
  return false;
}

function matches({ literals, slashes, holdsMore }: UriTemplate, uri: string): boolean {
  const [first = '', last] = [literals[0], literals.at(-1) ?? ''];
  if (literals.length === 1) return uri === first;
  const end = uri.length - last.length;
  if (end < first.length || !uri.startsWith(first) || !uri.endsWith(last)) return false;
  let at = first.length;
  // The first occurrence of each is the best: it leaves the most room for the rest.
  for (const literal of literals.slice(1, -1)) {
    const found = uri.indexOf(literal, at);
    if (found < 0) return false;
    at = found + literal.length;
  }
  return at <= end && (holdsMore || slashesIn(uri) === slashes);
}

/** Could a URI match both? */
export function overlap(one: UriTemplate, other: UriTemplate): boolean {
  const [first, otherFirst] = [one.literals[0] ?? '', other.literals[0] ?? ''];
  if (!first.startsWith(otherFirst) && !otherFirst.startsWith(first)) return false;
  const [last, otherLast] = [one.literals.at(-1) ?? '', other.literals.at(-1) ?? ''];
  if (!last.endsWith(otherLast) && !otherLast.endsWith(last)) return false;
  if (one.slashes === other.slashes) return true;
  return (one.slashes < other.slashes ? one : other).holdsMore;
}

/** `{id}`, `{.id}` and `{;id}` stay within a segment, if the client encodes correctly. */
function mayHoldSlash(expression: string): boolean {
  return !/^\{[\w%.;]/.test(expression);
}

function slashesIn(text: string): number {
  return text.split('/').length - 1;
}

/** A template's literals are encoded when it is expanded, so both sides are compared encoded. */
function encoded(text: string): string {
  return text.replace(/[^\w.~:/?#[\]@!$&'()*+,;=%-]/gu, percentEncoded);
}
