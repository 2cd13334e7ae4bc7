/** `sluice admin link`: the way in for operators, while the relay runs and while it does not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entranceCalls } from '../src/http/console/contract/entrance.ts'
import { Browser, goodPassword, printedToken } from './browser.ts'
import { commandsOf } from './command-line.ts'
import { openHouse } from './house.ts'

interface Link {
  url: string
  expires_at: string
}

test('a link of the command line makes an operator once, and voids those made before', async (t) => {
  const house = await openHouse(t)
  const printed = await printedToken(house)
  const command = commandsOf(house.relay)
  const { url } = await command.json<Link>(['admin', 'link'])
  assert.ok(url.startsWith(`${house.url}/console/set-up#`), url)
  const comeIn = (token: string, email: string) =>
    new Browser(house.url).send(entranceCalls.setUp, { body: { token, email, password: goodPassword } })
  assert.equal((await comeIn(printed, 'early@example.com')).status, 404)
  const token = url.slice(url.indexOf('#') + 1)
  assert.equal((await comeIn(token, 'boss@example.com')).status, 200)
  assert.equal((await comeIn(token, 'late@example.com')).status, 404)
  await house.stop()
  assert.match(await command.output(['admin', 'link']), /Open this once, until .+\n\n {2}http/)
  await house.restart()
})
