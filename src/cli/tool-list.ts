// Prints many tools on standard output, and one line on standard error if some come from a stored
// list: they are marked with their age, and the line says how to read them again.

import { type ListedTool, toolLines } from './render/tool-page.ts';
import { remark, type Shell } from './shell.ts';

/** `again` is the command that reads the lists now. */
export function printTools(shell: Shell, list: readonly ListedTool[], again: string): void {
  const { out, clock } = shell;
  const lines = toolLines(list, out.style, { columns: out.columns, now: clock.wallNow() });
  for (const line of lines) out.line(line);
  if (list.some(({ kept }) => kept !== undefined)) {
    remark(shell, `some lists were stored earlier; read them again with: holdfast ${again}`);
  }
}
