import { expect, it } from 'vitest';
import { LegacyPeer, newGateway, settled } from '../../test/support/fake-gateway.ts';
import { text, tool } from '../../test/support/scripted-server.ts';

it('completion dup', async () => {
  const { legacy } = newGateway({ a: { tools: [tool('echo')] } });
  const peer = legacy();
  const r = peer.request('completion/complete', '{"ref":{"name":"a","name":"b"},"argument":{}}');
  await settled();
  console.log('completion', r.answers);
});
it('smuggle', async () => {
  const { legacy, servers } = newGateway({
    a: { tools: [tool('echo')], on: { 'tools/call': () => text('hi') } },
  });
  const peer = legacy();
  peer.request('tools/call', { name: 'a__echo' });
  await settled();
  peer.say(
    '{"jsonrpc":"2.0","method":"notifications/x","params":{"a":\n{"jsonrpc":"2.0","id":99,"method":"tools/call"}\n}}',
  );
  await settled();
  console.log('smuggle', servers.a.child.heard.map((h) => h.text).slice(-3));
});
it('blank', async () => {
  const { legacy, servers } = newGateway({
    a: { tools: [tool('echo')], on: { 'custom/x': () => text('hi') } },
  });
  const peer = legacy();
  const r = peer.request('custom/x', '{ }');
  await settled();
  console.log('blank', r.answers, servers.a.child.heard.map((h) => h.text).slice(-3));
});
it('late progress', async () => {
  const { legacy, servers } = newGateway({
    a: { tools: [tool('echo')], on: { 'tools/call': () => text('hi') } },
  });
  const peer = legacy();
  const r = peer.request('tools/call', { name: 'a__echo', _meta: { progressToken: 'mine' } });
  await settled();
  servers.a.child.note('notifications/progress', {
    progressToken: servers.a.child.last('tools/call').id,
    progress: 1,
  });
  await settled();
  console.log('late', r.sent, peer.heard);
});
