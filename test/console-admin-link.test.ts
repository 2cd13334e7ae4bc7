/** The links by which operators come in: those that starts print, and those of `sluice admin link`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPostgresDb } from '../src/db/postgres/postgres-db.ts'
import { withoutPostgres } from '../src/db/postgres/postgres.fixture.ts'
import { operatorLink } from '../src/http/console/access-links.ts'
import { entranceCalls } from '../src/http/console/contract/entrance.ts'
import { Browser, goodPassword, printedToken } from './browser.ts'
import { openCluster } from './cluster.ts'
import { commandsOf } from './support/server/command-line.ts'
import { openHouse } from './support/server/test-server.ts'

interface Link {
  url: string
  expires_at: string
}

/** How an attempt to become an operator is answered. */
async function comeIn({ url }: { url: string }, token: string, email: string): Promise<number> {
  const body = { token, email, password: goodPassword }
  const reply = await new Browser(url).send(entranceCalls.setUp, { body })
  await reply.body?.cancel()
  return reply.status
}

test('a link of the command line makes an operator once, and voids those made before', async (t) => {
  const house = await openHouse(t)
  const printed = await printedToken(house)
  const command = commandsOf(house.relay)
  const { url } = await command.json<Link>(['admin', 'link'])
  assert.ok(url.startsWith(`${house.url}/console/set-up#`), url)
  assert.equal(await comeIn(house, printed, 'early@example.com'), 404)
  const token = url.slice(url.indexOf('#') + 1)
  assert.equal(await comeIn(house, token, 'boss@example.com'), 200)
  assert.equal(await comeIn(house, token, 'late@example.com'), 404)
  await house.stop()
  assert.match(await command.output(['admin', 'link']), /Open this once, until .+\n\n {2}http/)
  await house.restart()
})

test('a link that a start has printed is good after the next start; once there is an operator none is', async (t) => {
  const house = await openHouse(t)
  const first = await printedToken(house)
  await house.restart()
  const second = await printedToken({ log: house.relay.lines })
  await house.restart()
  const third = await printedToken({ log: house.relay.lines })
  assert.equal(await comeIn(house, second, 'boss@example.com'), 200)
  for (const token of [first, second, third])
    assert.equal(await comeIn(house, token, 'late@example.com'), 404)
})

test(
  'each node prints a link that works, whichever started last, until one of them has made the operator',
  { skip: withoutPostgres },
  async (t) => {
    const { nodes, url } = await openCluster(t, 2)
    const [one, other] = nodes
    assert.ok(one && other)
    const tokens = await Promise.all(nodes.map(({ lines }) => printedToken({ log: lines })))
    const [first = '', second = ''] = tokens
    // At once, through different nodes: one of them is the first operator.
    const answers = await Promise.all([
      comeIn(one, first, 'a@example.com'),
      comeIn(other, second, 'b@example.com'),
    ])
    assert.deepEqual(answers.toSorted(), [200, 404])
    for (const token of tokens) assert.equal(await comeIn(one, token, 'late@example.com'), 404)
    // A start that had looked for an operator a moment before there was one.
    const db = openPostgresDb(url, 'a late start')
    t.after(() => db.close())
    const { token } = await operatorLink(db, null)
    assert.equal(await comeIn(other, token, 'late@example.com'), 404)
  },
)

test('a node that starts leaves the link of another good', { skip: withoutPostgres }, async (t) => {
  const cluster = await openCluster(t, 2)
  const [one] = cluster.nodes
  assert.ok(one)
  const printed = await printedToken({ log: one.lines })
  await cluster.nodes[1]?.stop()
  await cluster.again(1)
  assert.equal(await comeIn(one, printed, 'boss@example.com'), 200)
})
