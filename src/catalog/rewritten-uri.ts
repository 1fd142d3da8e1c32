// The spelling of a URI that two servers share: for the server that does not keep it, the server's
// name is written in front. `file:///x` becomes `holdfast:SERVER:file:///x`, which is a URI whose
// path nobody normalises, and `ui://host/page` becomes `ui://holdfast+SERVER/host/page`, because
// hosts of apps recognise their pages by the scheme; the same holds for hosts of skills, which also
// read paths relative to a skill (`skill://`). The original can be read back from the spelling
// alone, so a client may store it across restarts. To keep that unambiguous, a URI from a server
// that already looks rewritten (another Holdfast is behind this one) counts as taken, and is
// rewritten too. Templates are treated alike: their expressions are not changed.

const generalMark = 'holdfast:';
const authorityMark = 'holdfast+';
/** Schemes that have to be kept. */
const keptSchemes = ['ui://', 'skill://'];

/** The server's name inside a rewritten URI. Names from a config file are used unchanged. */
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

/** Whether it is spelled like one of ours, whether or not the server exists. */
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
