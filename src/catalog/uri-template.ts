// URI templates (RFC 6570), as far as routing needs them: can this URI have come out of this
// template, and can two templates give the same URI? Both answers err on the side of yes: literals
// must be there, and an expression may have become any text, only that one which stands within a
// segment of the path holds no slash. The template comes from a server and the URI from a client,
// so neither may be costly: sizes are bounded, and matching is one sweep over the URI for each
// expression, without going back.

import { percentEncoded } from './rewritten-uri.ts';

/** Beyond these a template is not judged: no real one is as large, and each part costs a sweep. */
const maxTemplateLength = 1_024;
const maxExpressions = 16;
/** Longer URIs match no template. */
const maxUriLength = 4_096;

/** Expressions stand between the literals: there is one less of them. */
export interface UriTemplate {
  readonly literals: readonly string[];
  /** For each, whether what it becomes may hold a slash. */
  readonly expressions: readonly boolean[];
}

/** Undefined if it is too large to be judged. Braces that do not pair up are literals. */
export function templateFrom(text: string): UriTemplate | undefined {
  if (text.length > maxTemplateLength) return undefined;
  const literals: string[] = [];
  const expressions: boolean[] = [];
  let at = 0;
  for (const { index, 0: expression } of text.matchAll(/\{[^{}]*\}/g)) {
    literals.push(encoded(text.slice(at, index)));
    expressions.push(mayHoldSlash(expression));
    at = index + expression.length;
  }
  literals.push(encoded(text.slice(at)));
  return expressions.length > maxExpressions ? undefined : { literals, expressions };
}

/** Could the URI be an expansion of one of the templates? */
export function matchesOne(templates: Iterable<UriTemplate>, uri: string): boolean {
  if (uri.length > maxUriLength) return false;
  const text = encoded(uri);
  for (const template of templates) if (matches(template, text)) return true;
  return false;
}

function matches({ literals, expressions }: UriTemplate, text: string): boolean {
  const [first = ''] = literals;
  if (!text.startsWith(first) || !text.endsWith(literals.at(-1) ?? '')) return false;
  // Where the literals so far can have ended, marked in a map of the text.
  let ends = new Uint8Array(text.length + 1);
  ends[first.length] = 1;
  for (const [index, holdsSlash] of expressions.entries()) {
    ends = endsAfter(text, ends, holdsSlash, literals[index + 1] ?? '');
  }
  return ends[text.length] === 1;
}

/** Where the next literal can end, when an expression that begins at one of `ends` precedes it. */
function endsAfter(text: string, ends: Uint8Array, holdsSlash: boolean, literal: string) {
  const next = new Uint8Array(text.length + 1);
  let isInside = false;
  for (let at = 0; at + literal.length <= text.length; at += 1) {
    if (ends[at] === 1) isInside = true;
    if (isInside && text.startsWith(literal, at)) next[at + literal.length] = 1;
    if (!holdsSlash && text[at] === '/') isInside = false;
  }
  return next;
}

/** Could a URI match both? */
export function overlap(one: UriTemplate, other: UriTemplate): boolean {
  const [first, otherFirst] = [one.literals[0] ?? '', other.literals[0] ?? ''];
  if (!first.startsWith(otherFirst) && !otherFirst.startsWith(first)) return false;
  const [last, otherLast] = [one.literals.at(-1) ?? '', other.literals.at(-1) ?? ''];
  if (!last.endsWith(otherLast) && !otherLast.endsWith(last)) return false;
  return canHaveEqualSlashes(one, other);
}

/** The slashes that no expression can give stand in the literals. */
function canHaveEqualSlashes(one: UriTemplate, other: UriTemplate): boolean {
  const [slashes, otherSlashes] = [slashesIn(one), slashesIn(other)];
  if (slashes === otherSlashes) return true;
  return (slashes < otherSlashes ? one : other).expressions.includes(true);
}

function slashesIn({ literals }: UriTemplate): number {
  return literals.reduce((sum, literal) => sum + literal.split('/').length - 1, 0);
}

/** `{id}`, `{.id}` and `{;id}` stay within a segment, if the client encodes as it should. */
function mayHoldSlash(expression: string): boolean {
  return !/^\{[\w%.;]/.test(expression);
}

/** A template's literals are encoded when it is expanded, so both sides are compared encoded. */
function encoded(text: string): string {
  return text.replace(/[^\w.~:/?#[\]@!$&'()*+,;=%-]/gu, percentEncoded);
}
