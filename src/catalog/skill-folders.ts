// Identifies a skill by its folder. The main file of a skill is `…/SKILL.md`, and all its other
// files are below the same folder; a claim to a skill is a claim to the folder, stored under a key
// that cannot be a URI.

import { uriKey } from './uri-holdings.ts';

const mainFile = 'SKILL.md';
/** No URI contains a line break. */
const skillMark = '\nskill';
/** A URI with more folders is not looked up in all of them. */
const maxFolders = 32;

/** The key of the skill whose main file this is; a file with another name is a skill by itself. */
export function skillKeyOf(uri: string): string {
  const isInFolder = uri.endsWith(`/${mainFile}`);
  return skillKey(isInFolder ? uri.slice(0, -mainFile.length) : `${uri}/`);
}

export function skillKey(folder: string): string {
  return `${uriKey(folder)}${skillMark}`;
}

export function isSkillKey(key: string): boolean {
  return key.endsWith(skillMark);
}

/** The folders that can contain a URI, the innermost first; including itself, if it is one. */
export function foldersOf(uri: string): readonly string[] {
  const whole = uri.endsWith('/') ? uri : `${uri}/`;
  const folders: string[] = [];
  const authority = whole.indexOf('://') + 3;
  for (let at = whole.indexOf('/', authority); at >= 0; at = whole.indexOf('/', at + 1)) {
    folders.push(whole.slice(0, at + 1));
    if (folders.length === maxFolders) break;
  }
  return folders.reverse();
}
