// The JSON text of the header of a frame. Letters are most of what is sent, so their headers are written out, which
// takes less time than JSON.stringify. It is the same JSON either way.

import type { ClientFrame, HubFrame } from './frames.ts';

export function headerText(header: ClientFrame | HubFrame): string {
  switch (header.is) {
    case 'deliver':
      return `${letterText(header)}}`;
    case 'tell':
      return `${letterText(header)}${header.all ? ',"all":true' : ''}}`;
    case 'mail':
      return mailText(header);
    default:
      return JSON.stringify(header);
  }
}

type LetterFrame = Extract<ClientFrame, { readonly is: 'deliver' | 'tell' }>;
type MailFrame = Extract<HubFrame, { readonly is: 'mail' }>;

/** Without its last brace. */
function letterText(header: LetterFrame): string {
  const { is, n, id, to, seat, kind, about, ttl } = header;
  const first = `{"is":"${is}","n":${n},"id":${quoted(id)},"to":${quoted(to)},"kind":${quoted(kind)}`;
  const forSeat = seat === undefined ? '' : `,"seat":${quoted(seat)}`;
  return first + forSeat + optionalText(about, ttl) + credentialText(header);
}

function mailText(header: MailFrame): string {
  const { mail, id, from, seat, role, kind, about, ttl } = header;
  const first = `{"is":"mail","mail":${mail},"id":${quoted(id)},"from":${quoted(from)},"seat":${quoted(seat)}`;
  const second = `,"role":${role === null ? 'null' : quoted(role)},"kind":${quoted(kind)}`;
  return `${first}${second}${optionalText(about, ttl)}${credentialText(header)}}`;
}

function credentialText({ credential }: { readonly credential?: string | undefined }): string {
  return credential === undefined ? '' : `,"credential":${quoted(credential)}`;
}

function optionalText(about: string | undefined, ttl: number | undefined): string {
  const aboutText = about === undefined ? '' : `,"about":${quoted(about)}`;
  return ttl === undefined ? aboutText : `${aboutText},"ttl":${ttl}`;
}

/** ASCII without anything that JSON has an escape for. */
const plain = /^[ !#-[\]-~]*$/;

function quoted(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text);
}
