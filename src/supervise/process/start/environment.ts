// The environment of a child: the small safe set, what the operator passes on (`inheritEnv`) and
// declares (`env`), and the marker by which a stray process is recognised as ours. Everything is a
// function of a given environment; only `processEnvironment` reads the real one. Invariant: a
// variable that was not named never reaches a child.

import { isDangerous } from '../../../kernel/dangerous-variables.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Names passed on to every child; a `*` at one end matches anything. */
const safeNames: readonly string[] = [
  ...['PATH', 'HOME', 'USER', 'SHELL', 'TERM', 'LOGNAME', 'LANG', 'LC_*', 'TZ', 'TMPDIR'],
  ...['*_PROXY', '*_proxy', 'SSL_CERT_*', 'NODE_EXTRA_CA_CERTS', 'XDG_*'],
];

/**
 * The variable that marks a process as ours. Its value lists every host above the process, each as
 * `instance.child;`, so that a Holdfast below a Holdfast stays recognisable to both.
 */
export const markerName = 'HOLDFAST_INSTANCE';

/** Found in the environment of every process of one child, and of no other. */
export function childToken(instance: string, child: number): string {
  return `${instance}.${child};`;
}

/** Found in the environment of every process of one host. */
export function instanceToken(instance: string): string {
  return `${instance}.`;
}

export interface EnvironmentRequest {
  readonly env: Readonly<Record<string, string>>;
  readonly inheritEnv: readonly string[];
  /** The dangerous variables that a pattern may pass on, too. */
  readonly allowEnv?: readonly string[];
  /** See `childToken`. */
  readonly token: string;
}

/** The whole environment of one child. The marker comes last: a declared variable cannot hide it. */
export function childEnvironment(
  source: Environment,
  request: EnvironmentRequest,
): Record<string, string> {
  return {
    ...passedOn(source, request.inheritEnv, request.allowEnv),
    ...request.env,
    [markerName]: `${source[markerName] ?? ''}${request.token}`,
  };
}

/**
 * The safe set and what these patterns name, of another program of this user. A pattern passes on a
 * variable that can make programs run other code only if it is allowed.
 */
export function passedOn(
  source: Environment,
  more: readonly string[],
  allowed: readonly string[] = [],
): Record<string, string> {
  return Object.fromEntries(inheritedFrom(source, [...safeNames, ...more], allowed));
}

/** The one place that reads the real environment. */
export function processEnvironment(): Environment {
  return process.env;
}

function inheritedFrom(
  source: Environment,
  patterns: readonly string[],
  allowed: readonly string[],
) {
  return Object.entries(source).flatMap(([name, value]) => {
    const isSafe = !isDangerous(name) || allowed.includes(name);
    const isPassedOn = patterns.includes(name) || (isSafe && patterns.some(matching(name)));
    return value !== undefined && isPassedOn ? [[name, value] as const] : [];
  });
}

function matching(name: string): (pattern: string) => boolean {
  return (pattern) => {
    if (pattern.endsWith('*')) return name.startsWith(pattern.slice(0, -1));
    return pattern.startsWith('*') && name.endsWith(pattern.slice(1));
  };
}
