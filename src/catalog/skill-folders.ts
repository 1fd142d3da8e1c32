// A skill by its folder. The main file of a skill is `…/SKILL.md`, and all its other files stand below the
// same folder; a claim to a skill is a claim to the folder, kept under a key of its own beside the keys of
// single URIs.

import { uriKey } from './uri-holdings.ts';

const mainFile = 'SKILL.md';
/** A line break is in no URI. */
const skillMark = '\nskill';
/** A URI with more folders is not looked up in all of them. */
const maxFolders = 32;

/** The key of the skill whose main file this is; a file of another name is a skill by itself. */
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

/** The folders that a URI can be in, the innermost first; its own, if it is one, among them. */
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
