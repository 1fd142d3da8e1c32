// The value of an option that takes a number of seconds, such as --wait 30.

import { InvalidArgumentError } from 'commander';

export function seconds(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value <= 86_400) return value;
  throw new InvalidArgumentError('Expected a number of seconds, such as 30');
}
