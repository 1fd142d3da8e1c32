// Groups clients by the capabilities that a legacy server is told. Such a server learns once, in
// `initialize`, what its client can do, and may offer other tools for it. Clients that declare the
// same roots, sampling, elicitation modes and extensions are one class; their names, and whether
// they want list change notifications, make no difference. A class is a set of features, so that
// one can cover another and two can be joined.

import { isRecord } from '../../kernel/json-values.ts';
import { extensionNames } from '../../wire/eras.ts';

export interface ClientClass {
  /** The features in order; the same text for the same class. */
  readonly key: string;
  readonly features: ReadonlySet<string>;
  /** What a legacy server is told in `initialize`: JSON. */
  readonly capabilities: string;
}

/** How many extensions of one client are considered, and how long the text of one may be. */
const maxExtensions = 16;
const maxExtensionText = 2_048;
/** Declared texts whose class is remembered. */
const maxRemembered = 256;
/** Characters; the class of a client that declares more is computed each time. */
const maxDeclared = 4_096;

const extensionMark = 'extension ';

function classFrom(features: ReadonlySet<string>): ClientClass {
  const sorted = [...features].sort();
  return {
    key: sorted.join(' '),
    features: new Set(sorted),
    capabilities: JSON.stringify(capabilitiesOf(new Set(sorted))),
  };
}

/** A client without capabilities. */
export const bareClass: ClientClass = classFrom(new Set());

/** For a connection that clients of every class share. */
export const everyClass: ClientClass = classFrom(
  new Set([
    'roots',
    'sampling',
    'sampling.tools',
    'sampling.context',
    'elicitation.form',
    'elicitation.url',
    extensionText(extensionNames.ui, { mimeTypes: ['text/html;profile=mcp-app'] }),
  ]),
);

/** By what was declared; at most `maxRemembered`, none of them longer than `maxDeclared`. */
const remembered = new Map<string, ClientClass>();

/** The class of a client that declares these capabilities: JSON. */
export function classOf(declared: string): ClientClass {
  const known = remembered.get(declared);
  if (known) return known;
  const found = classFrom(featuresOf(JSON.parse(declared)));
  if (declared.length > maxDeclared) return found;
  if (remembered.size >= maxRemembered) remembered.clear();
  remembered.set(declared, found);
  return found;
}

/** The class with these features, as they were kept; what is none of them is left out. */
export function classWith(features: readonly string[]): ClientClass {
  return classFrom(new Set(features.filter(isFeature)));
}

function isFeature(feature: string): boolean {
  if (!feature.startsWith(extensionMark)) return true;
  try {
    const [name, settings] = JSON.parse(feature.slice(extensionMark.length)) as unknown[];
    return typeof name === 'string' && isRecord(settings);
  } catch {
    return false;
  }
}

/** Whether a client of the other class can use a connection that was opened for this one. */
export function covers(one: ClientClass, other: ClientClass): boolean {
  if (one.key === other.key) return true;
  for (const feature of other.features) if (!one.features.has(feature)) return false;
  return true;
}

export function unionOf(classes: readonly ClientClass[]): ClientClass {
  return classFrom(new Set(classes.flatMap(({ features }) => [...features])));
}

/** How much two classes differ: the features that only one of them has. */
export function distance(one: ClientClass, other: ClientClass): number {
  let shared = 0;
  for (const feature of one.features) if (other.features.has(feature)) shared += 1;
  return one.features.size + other.features.size - 2 * shared;
}

export function hasRoots({ features }: ClientClass): boolean {
  return features.has('roots');
}

// --- between declarations and features -----------------------------------------------------

function featuresOf(declared: unknown): ReadonlySet<string> {
  const features = new Set<string>();
  if (!isRecord(declared)) return features;
  const { roots, sampling, elicitation, extensions } = declared;
  if (isRecord(roots)) features.add('roots');
  if (isRecord(sampling)) {
    features.add('sampling');
    if (isRecord(sampling['tools'])) features.add('sampling.tools');
    if (isRecord(sampling['context'])) features.add('sampling.context');
  }
  if (isRecord(elicitation)) {
    const hasUrl = isRecord(elicitation['url']);
    if (hasUrl) features.add('elicitation.url');
    // Declared without a mode it means the form.
    if (!hasUrl || isRecord(elicitation['form'])) features.add('elicitation.form');
  }
  if (isRecord(extensions)) addExtensions(features, extensions);
  return features;
}

function addExtensions(features: Set<string>, extensions: Readonly<Record<string, unknown>>): void {
  for (const [name, settings] of Object.entries(extensions).slice(0, maxExtensions)) {
    if (!isRecord(settings)) continue;
    const text = extensionText(name, settings);
    if (text.length <= maxExtensionText) features.add(text);
  }
}

function extensionText(name: string, settings: Readonly<Record<string, unknown>>): string {
  return `${extensionMark}${JSON.stringify([name, settings])}`;
}

function capabilitiesOf(features: ReadonlySet<string>): object {
  const part = (name: string, key: string) => (features.has(`${name}.${key}`) ? { [key]: {} } : {});
  const form = part('elicitation', 'form');
  const url = part('elicitation', 'url');
  const hasElicitation = 'form' in form || 'url' in url;
  const extensions = [...features]
    .filter((feature) => feature.startsWith(extensionMark))
    .map((feature) => JSON.parse(feature.slice(extensionMark.length)) as [string, object])
    .reverse();
  return {
    ...(features.has('roots') ? { roots: { listChanged: true } } : {}),
    ...(features.has('sampling')
      ? { sampling: { ...part('sampling', 'tools'), ...part('sampling', 'context') } }
      : {}),
    ...(hasElicitation ? { elicitation: { ...form, ...url } } : {}),
    ...(extensions.length > 0 ? { extensions: Object.fromEntries(extensions) } : {}),
  };
}
