// How a URI is spelled when two servers have the same one: the server that does not keep it gets its
// name written in front. `file:///x` becomes `holdfast:SERVER:file:///x`, which is a URI whose path
// nobody normalises, and `ui://host/page` becomes `ui://holdfast+SERVER/host/page`, because hosts
// of apps know their pages by the scheme; so do hosts of skills, which also read paths relative to
// a skill (`skill://`). The original can be read back from the spelling alone, so
// a client may remember it across restarts. To keep that reading certain, a URI that already looks
// rewritten when it comes from a server (another Holdfast stands behind this one) counts as taken,
// and is rewritten too. Templates are spelled alike: their expressions are not touched.

const generalMark = 'holdfast:';
const authorityMark = 'holdfast+';
/** Schemes that have to be kept. */
const keptSchemes = ['ui://', 'skill://'];

/** What a server is called inside of a rewritten URI. Names from a config file stay as they are. */
export function serverMark(server: string): string {
  return server.replace(/[^A-Za-z0-9._-]/gu, percentEncoded);
}

export function rewrittenUri(mark: string, uri: string): string {
  const scheme = keptScheme(uri);
  return scheme === undefined
    ? `${generalMark}${mark}:${uri}`
    : `${scheme}${authorityMark}${mark}/${uri.slice(scheme.length)}`;
}

function keptScheme(uri: string): string | undefined {
  return keptSchemes.find((scheme) => uri.startsWith(scheme));
}

/** Is it spelled like one of ours, whether or not the server exists? */
export function looksRewritten(uri: string): boolean {
  if (uri.startsWith(generalMark)) return true;
  const scheme = keptScheme(uri);
  return scheme !== undefined && uri.startsWith(authorityMark, scheme.length);
}

/** The parts of a rewritten URI; undefined if it is none. */
export function readRewritten(
  uri: string,
): { readonly mark: string; readonly uri: string } | undefined {
  if (uri.startsWith(generalMark)) return cut(uri, generalMark.length, ':', '');
  const scheme = looksRewritten(uri) ? keptScheme(uri) : undefined;
  if (scheme === undefined) return undefined;
  return cut(uri, scheme.length + authorityMark.length, '/', scheme);
}

function cut(uri: string, start: number, end: string, scheme: string) {
  const at = uri.indexOf(end, start);
  return at < 0 ? undefined : { mark: uri.slice(start, at), uri: scheme + uri.slice(at + 1) };
}

export function percentEncoded(character: string): string {
  const hex = Buffer.from(character).toString('hex').toUpperCase();
  return hex.replace(/../g, '%$&');
}
