// One kept input once more: what is wrong with it now, if anything is.

import { ConfigFolder } from './config-check.ts';
import { wrongWith } from './disagreement.ts';
import { checkEvents } from './events.ts';
import { replayHttp } from './http.ts';
import type { Parser } from './kept-inputs.ts';
import { checkLines } from './lines.ts';
import { replayDocument } from './scanner.ts';
import { replayStdio } from './stdio.ts';
import { Tally } from './tally.ts';

/** `build` is where the built gateway is, for the inputs that are meant for it. */
export async function replayed(
  parser: Parser,
  input: Buffer,
  build: string,
): Promise<string | undefined> {
  const tally = new Tally();
  switch (parser) {
    case 'scanner':
      return replayDocument(input);
    case 'lines':
      return wrongWith(() => checkLines(input, tally));
    case 'events':
      return wrongWith(() => checkEvents(input, tally));
    case 'config': {
      using folder = new ConfigFolder();
      return wrongWith(() => folder.check(input, tally));
    }
    case 'http':
      return (await replayHttp(build, [{ name: 'it', bytes: input }]))[0];
    case 'stdio':
      return await replayStdio(build, input, tally);
  }
}
