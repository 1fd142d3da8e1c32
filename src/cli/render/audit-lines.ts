// The audit log as text: one line for each call, and what `audit verify` has counted.

import type { AuditEntry } from '../../audit/recent.ts';
import type { VerifiedTrack } from '../../audit/verify.ts';
import { printableLine, printableName } from '../../kernel/printable.ts';
import { countText, durationText, momentText } from './quantity.ts';
import type { Style } from './style.ts';

/** When, who, what, how it ended. */
export function auditLine(entry: AuditEntry, now: number, style: Style): string {
  const { at, principal, token, role, path, server, name, method, outcome, ms, reason, count } =
    entry;
  const who = [token ?? principal, role && `(${role})`, path && `at ${path}`]
    .filter(Boolean)
    .join(' ');
  const subject = [server, name ?? method].filter((part) => part !== null).join('/');
  const end = outcome === null ? style('yellow', 'no end') : outcomeText(outcome, style);
  const took = ms === null ? [] : [durationText(ms)];
  const times = count === 1 ? [] : [`${count} times`];
  const why = reason === null ? [] : [printableLine(reason)];
  return [
    style('dim', momentText(at, now)),
    printableLine(who),
    printableName(subject),
    end,
    ...took,
    ...times,
    ...why,
  ].join('  ');
}

function outcomeText(outcome: string, style: Style): string {
  const isGood = outcome === 'ok' || outcome === 'cached';
  return style(isGood ? 'green' : 'red', printableLine(outcome));
}

export function verifiedText(tracks: readonly VerifiedTrack[]): string {
  const total = (count: (track: VerifiedTrack) => number) =>
    tracks.reduce((sum, track) => sum + count(track), 0);
  const lines = `${countText(
    total(({ lines }) => lines),
    'line',
  )} in ${countText(
    total(({ files }) => files),
    'file',
  )}`;
  const isKeyed = tracks.every((track) => track.isKeyed);
  const how = isKeyed ? '' : '; without a key: that nobody has forged them cannot be shown';
  const processes = total(({ starts }) => starts);
  return `${lines} of ${processes === 1 ? '1 process' : `${processes} processes`} are as they were written${how}`;
}

/** What is not wrong, but worth knowing. */
export function trackNotes(track: VerifiedTrack): readonly string[] {
  const { track: name, first, cuts, lost, unfinished, isOpen } = track;
  const said = [
    first > 1 ? `lines before ${first} are not here: their files were moved away or removed` : '',
    cuts > 0 ? `${countText(cuts, 'unfinished line')} cut off by the next start` : '',
    lost > 0 ? `${countText(lost, 'line')} could not be written when the disk failed` : '',
    unfinished > 0
      ? `${countText(unfinished, 'call')} without an end: under way, or lost with their process`
      : '',
    isOpen ? 'its last process has not ended it: it runs, was killed, or lines were removed' : '',
  ];
  return said.filter((text) => text !== '').map((text) => `track ${name}: ${text}`);
}

/** Of a running instance: what its log lacks because the disk failed; undefined if nothing. */
export function unwrittenText(lost: number, refused: number): string | undefined {
  if (lost + refused === 0) return undefined;
  const lines = `${countText(lost, 'line')} ${lost === 1 ? 'is' : 'are'} missing in the audit log`;
  const calls = `${countText(refused, 'call')} ${refused === 1 ? 'was' : 'were'} refused`;
  return `${lines} and ${calls}, because it could not be written`;
}

export function gapsText(gaps: number): string {
  const often = gaps === 1 ? 'once' : `${gaps} times`;
  return `files of the audit log were moved away or removed ${often} while the instance wrote them`;
}

export const gapsRemedy =
  'put them back or keep them with the log, and move only older files away; then run: holdfast audit verify';
