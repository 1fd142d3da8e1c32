#!/usr/bin/env node
// The command that the suite runs to test a client: a gateway with the suite's server behind it,
// and an official client in front that uses everything the gateway lists. What reaches the suite's
// server is the gateway's doing alone: the client speaks to it on stdio, without any of HTTP's
// headers.
//   use-everything.mjs URL    the suite says the rest in MCP_CONFORMANCE_*

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const {
  MCP_CONFORMANCE_SCENARIO: scenario,
  MCP_CONFORMANCE_PROTOCOL_VERSION: version,
  MCP_CONFORMANCE_CONTEXT: context,
} = process.env;
const dist = fileURLToPath(new URL('../../dist', import.meta.url));
const gateway = join(process.env.HOLDFAST_BUILD ?? dist, 'cli/main.js');
const url = process.argv.at(-1);
const folder = await mkdtemp(join(tmpdir(), 'holdfast-client-'));

try {
  const client = await connect();
  try {
    await useTools(client);
    await useResources(client);
    await usePrompts(client);
  } finally {
    await client.close(); // the gateway writes to its folder until it ends
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function connect() {
  const config = join(folder, 'holdfast.json');
  const mcpServers = { suite: { type: 'http', url } };
  await writeFile(config, JSON.stringify({ mcpServers, naming: 'transparent', hostTools: false }));
  const client = new Client(
    { name: 'use-everything', version: '1.0.0' },
    {
      capabilities: { elicitation: {} },
      versionNegotiation: { mode: version === '2026-07-28' ? { pin: version } : 'legacy' },
    },
  );
  client.setRequestHandler('elicitation/create', ({ params }) => ({
    action: 'accept',
    content: sampleOf(params.requestedSchema),
  }));
  const env = { ...process.env, HOLDFAST_STATE: join(folder, 'state') };
  const args = [gateway, 'serve', '--stdio', '--config', config];
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, env, stderr: 'inherit' }),
  );
  return client;
}

/** Calls what the suite's context names, otherwise every tool that is listed. */
async function useTools(client) {
  const { tools } = await client.listTools();
  if (scenario === 'json-schema-ref-no-deref') return; // its server has no tools/call
  const calls = context === undefined ? tools.map(plainCall) : JSON.parse(context).toolCalls;
  for (const call of calls) {
    const { isError, content } = await client.callTool(call);
    if (isError) throw new Error(`${call.name} failed: ${JSON.stringify(content)}`);
  }
}

async function useResources(client) {
  if (client.getServerCapabilities()?.resources === undefined) return;
  const { resources } = await client.listResources();
  for (const { uri } of resources) await client.readResource({ uri });
}

async function usePrompts(client) {
  if (client.getServerCapabilities()?.prompts === undefined) return;
  const { prompts } = await client.listPrompts();
  for (const { name } of prompts) await client.getPrompt({ name });
}

/** A tool with an argument called `schema` is given the schema of the first one: it is an echo. */
function plainCall({ name, inputSchema }, _index, [first]) {
  const schema = inputSchema.properties?.schema && { schema: first.inputSchema };
  return { name, arguments: { ...sampleOf(inputSchema), ...schema } };
}

function sampleOf({ properties = {} }) {
  return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, value(one)]));
}

function value({ default: preset, enum: choices, type }) {
  const plain = { number: 1, integer: 1, boolean: true, object: {}, array: [], null: null };
  return preset ?? choices?.[0] ?? (type in plain ? plain[type] : 'text');
}
