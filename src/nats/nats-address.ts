// The address of a NATS server as it is written in a config: nats://USER:PASSWORD@HOST:PORT/NAMESPACE, or tls://. A
// user without a password is the seed of an nkey. The namespace keeps several deployments on one server apart.

export interface NatsPlace {
  /** `nats://HOST:PORT`, or `tls://`: what people may see, and what is connected to. */
  readonly url: string;
  readonly namespace: string;
  /** Empty: none. */
  readonly user: string;
  /** A password or the seed of an nkey; undefined: none. */
  readonly secret: string | undefined;
}

const namespaceForm = /^[a-z0-9-]{1,32}$/;
const usualNamespace = 'holdfast';

export function isNatsAddress(text: string): boolean {
  return /^(nats|tls):\/\//.test(text);
}

/** Undefined if it is none. */
export function natsPlaceIn(text: string): NatsPlace | undefined {
  if (!isNatsAddress(text) || !URL.canParse(text)) return undefined;
  const { protocol, hostname, host, pathname, username, password, search, hash } = new URL(text);
  const namespace = pathname.replace(/^\//, '') || usualNamespace;
  const [user, given] = [decoded(username), decoded(password)];
  const isUsable = hostname !== '' && namespaceForm.test(namespace) && search === '' && hash === '';
  if (!isUsable || user === undefined || given === undefined) return undefined;
  const url = `${protocol}//${host}`;
  if (user === '') return given === '' ? { url, namespace, user, secret: undefined } : undefined;
  return { url, namespace, user, secret: given === '' ? user : given };
}

/** Undefined if it is not percent-encoded as an address must be. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
