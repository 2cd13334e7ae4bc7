import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { askControl, controlSocketName, hasControl, NoControlError, serveControl } from './control-socket.ts'
import { refuse } from '../errors.ts'

function folder(t: TestContext, depth = 0): string {
  const root = mkdtempSync(join(tmpdir(), 'sluice-control-'))
  t.after(() => rmSync(root, { recursive: true }))
  const path = join(root, ...Array.from({ length: depth }, () => 'a-folder-with-a-long-name'))
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return path
}

/** Tells what it was asked. */
async function echo(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  return Response.json({ method: request.method, at: pathname + search, body: await request.text() })
}

test('a command asks the relay over a socket that only its owner may open', async (t) => {
  const dataDir = folder(t)
  const control = await serveControl(dataDir, echo)
  t.after(() => control.close())
  assert.equal(statSync(join(dataDir, controlSocketName)).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(dataDir), [controlSocketName])

  const asked = { method: 'POST', path: '/api/admin/accounts?x=1', body: { email: 'ann@example.com' } }
  const answer = await askControl(dataDir, asked)
  assert.equal(answer.status, 200)
  assert.deepEqual(JSON.parse(answer.text), {
    method: 'POST',
    at: '/api/admin/accounts?x=1',
    body: '{"email":"ann@example.com"}',
  })
})

test('a data directory of any length has its socket', async (t) => {
  const dataDir = folder(t, 8)
  assert.ok(dataDir.length > 200)
  assert.equal(await hasControl(dataDir), false)
  const control = await serveControl(dataDir, echo)
  assert.equal(await hasControl(dataDir), true)
  assert.equal((await askControl(dataDir, { method: 'GET', path: '/' })).status, 200)
  await control.close()
  assert.deepEqual(readdirSync(dataDir), [])
})

test('without a relay the command hears so, also where a killed one left its socket', async (t) => {
  const dataDir = folder(t)
  await assert.rejects(askControl(dataDir, { method: 'GET', path: '/' }), NoControlError)
  assert.equal(await hasControl(dataDir), false)

  const path = join(dataDir, controlSocketName)
  const killed = createServer()
  await new Promise<void>((resolve) => killed.listen(`${path}.old`, resolve))
  // Moved away from under its owner, the file stays when the owner goes.
  renameSync(`${path}.old`, path)
  await new Promise((resolve) => killed.close(resolve))
  assert.ok(statSync(path).isSocket())
  assert.equal(await hasControl(dataDir), false)

  const control = await serveControl(dataDir, echo)
  t.after(() => control.close())
  assert.equal((await askControl(dataDir, { method: 'GET', path: '/' })).status, 200)
})

test('what stands in the place of the socket, whatever it is, is replaced', async (t) => {
  const dataDir = folder(t)
  writeFileSync(join(dataDir, controlSocketName), 'not a socket')
  const control = await serveControl(dataDir, echo)
  t.after(() => control.close())
  assert.equal((await askControl(dataDir, { method: 'GET', path: '/' })).status, 200)
})

test('a refusal arrives with its words, a mishap without any', async (t) => {
  const dataDir = folder(t)
  const door = (request: Request): Promise<Response> =>
    Promise.reject(request.url.endsWith('/known') ? refuse('not_found') : new Error('the secret is 42'))
  const control = await serveControl(dataDir, door)
  t.after(() => control.close())
  const known = await askControl(dataDir, { method: 'GET', path: '/known' })
  assert.equal(known.status, 404)
  const mishap = await askControl(dataDir, { method: 'GET', path: '/' })
  assert.equal(mishap.status, 500)
  assert.doesNotMatch(mishap.text, /42/)
})

test('an answer under way is finished before the socket closes', async (t) => {
  const dataDir = folder(t)
  const entered = Promise.withResolvers<void>()
  const leave = Promise.withResolvers<void>()
  const control = await serveControl(dataDir, async () => {
    entered.resolve()
    await leave.promise
    return Response.json({})
  })
  const answer = askControl(dataDir, { method: 'GET', path: '/' })
  await entered.promise
  const closed = control.close()
  leave.resolve()
  assert.equal((await answer).status, 200)
  await closed
})

test('a relay that ends without an answer is told as that', async (t) => {
  const dataDir = folder(t)
  const path = join(dataDir, controlSocketName)
  const server = createServer((socket) => socket.once('data', () => socket.destroy()))
  await new Promise<void>((resolve) => server.listen(path, resolve))
  t.after(() => server.close())
  await assert.rejects(
    askControl(dataDir, { method: 'GET', path: '/' }),
    /The relay ended before it had answered/,
  )
})
