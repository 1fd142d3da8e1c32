// The folder of a client, for servers that run in it (`cwd: "client"`). Only a window on this machine has
// one: `holdfast connect` says where it was started, over the control socket. Nothing else that a client
// says, such as its roots, is used for that.

import { Fault } from '../../kernel/fault.ts';

/** A folder that was checked, or why there is none. */
export type ClientFolder = { readonly path: string } | { readonly problem: string };

/** The fault for a client without a usable folder. */
export function noFolderFault(server: string, folder: ClientFolder | undefined): Fault {
  const why =
    folder && 'problem' in folder
      ? folder.problem
      : 'only a client that was started with holdfast connect has one';
  const detail = `${server} runs in the folder of its client (cwd: "client" in the config): ${why}`;
  return new Fault('invalid_request', detail, { server });
}

/** Whether a client was started in this folder. */
export function isIn(
  client: { readonly folder?: ClientFolder | undefined },
  path: string,
): boolean {
  const { folder } = client;
  return folder !== undefined && 'path' in folder && folder.path === path;
}
