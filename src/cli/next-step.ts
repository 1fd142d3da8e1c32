// The commands that messages advise, with the config that the user has named: without `--config FILE` they
// would be about another config, or about none. Messages come from everywhere, also from the running instance,
// which does not know what was typed here; so the option is put in where a message is printed.

import { shellWord } from './shell-word.ts';

/** Adds what the user has typed to the commands in a message. */
export type NextSteps = (message: string) => string;

/** Those that are about a config, with the command below them; the others are the same with any. */
const commands =
  /\bholdfast (?:serve|connect|call|tools|search|status|check|logs|reload|start|stop|rollout|shutdown|doctor|role|audit|token(?: (?:add|list|revoke)\b)?|broker(?: nats-config\b)?)(?![\w-])(?! --(?:help|config)\b)/g;

export function nextSteps(configFile: string | undefined): NextSteps {
  if (configFile === undefined) return (message) => message;
  const option = ` --config ${shellWord(configFile)}`;
  return (message) => message.replace(commands, (command) => `${command}${option}`);
}
