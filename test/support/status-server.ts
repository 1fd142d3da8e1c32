// A web server that is no MCP server: it answers the status that its path names, with a page for people.

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export async function statusServer(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer(statuses);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const statuses: RequestListener = (req, res) => {
  const status = Number(req.url?.slice(1));
  const location = { location: 'https://elsewhere.example/mcp' };
  res.writeHead(status, { 'content-type': 'text/html', ...(status === 307 ? location : {}) });
  res.end('<!doctype html><title>a page</title>');
};
