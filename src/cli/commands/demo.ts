import type { Command } from 'commander';
import type { Perform } from '../invocation.ts';
export function addDemo(program: Command, perform: Perform): void {
  void program;
  void perform;
}
