/** `sluice doctor`: what it looks at beyond the machine, and what it tells of it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandsOf } from './support/server/command-line.ts'
import { openHouse } from './support/server/test-server.ts'
import { saying } from './support/upstream/scripted-responses.ts'

test('the doctor makes one call to each upstream, and none when it is told so', async (t) => {
  const house = await openHouse(t)
  const upstream = await house.upstream(saying('Hi!'))
  await house.model('m', { upstreams: [upstream] })
  const sluice = commandsOf(house.relay)
  await sluice.output(['doctor', '--no-calls'])
  assert.equal(upstream.requests.length, 0)
  const told = await sluice.output(['doctor'])
  assert.equal(upstream.requests.length, 1, told)
  await house.admin('PATCH', '/models/m', { listed: false })
  await house.stop()
  await sluice.output(['doctor', '--no-calls'])
  assert.equal(upstream.requests.length, 1)
  await sluice.output(['doctor'])
  assert.equal(upstream.requests.length, 2)
})

test('an upstream that cannot be asked is told, and the others are looked at', async (t) => {
  const house = await openHouse(t)
  const upstream = await house.upstream(saying('Hi!'))
  await house.model('m', { upstreams: [upstream] })
  await house.upstreamAt('http://127.0.0.1:9', { provider: 'azure' })
  const told = await commandsOf(house.relay).output(['doctor'])
  assert.match(told, /^warn +upstream upstream-2 .*no route leads to it/m)
  assert.match(told, /^ok +upstream upstream-1 .*It answers/m)
})
