// What the body of a request is, and what its sender can read. Decided by the media type itself,
// never by a part of the header that looks like it: `text/plain; a=application/json` is text, which
// a page on the web may post without asking.

/** Is the body JSON? Parameters, such as a charset, do not count. */
export function isJson(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  if (contentType === undefined || contentType.includes(',')) return false;
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

/** Can the client read a stream of events? One that does not say what it reads can read anything. */
export function readsEvents(accept: string | undefined): boolean {
  if (accept === undefined || accept === 'application/json, text/event-stream') return true;
  return accept.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const isMeant = type === 'text/event-stream' || type === 'text/*' || type === '*/*';
    return isMeant && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
