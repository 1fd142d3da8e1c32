// How a place in the configuration is written for a person: `mcpServers.docs.args[0]`, and with quotes
// where a name would be misread: `mcpServers["a.b"].env`. It is for reading only: names too long to be
// read are cut, so that two places may look alike.

import { shownWord } from './shown-word.ts';

const plainName = /^[A-Za-z0-9_$-]{1,64}$/;

export function pathText(path: readonly (string | number)[]): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (!plainName.test(step)) text += `[${shownWord(step)}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}
