import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import {
  controlSocketName,
  isRelayRunning,
  RelayNotRunningError,
  serveControlSocket,
} from './control-socket.ts'
import { requestControl } from './control-socket.fixture.ts'
import { apiError } from '../errors.ts'

function folder(t: TestContext, depth = 0): string {
  const root = mkdtempSync(join(tmpdir(), 'sluice-control-'))
  t.after(() => rmSync(root, { recursive: true }))
  const path = join(root, ...Array.from({ length: depth }, () => 'a-folder-with-a-long-name'))
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return path
}

/** Responds with the request. */
async function echo(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  return Response.json({ method: request.method, at: pathname + search, body: await request.text() })
}

describe('control socket', () => {
  test('request – reaches the relay over a socket that only its owner can open', async (t) => {
    const dataDir = folder(t)
    const control = await serveControlSocket(dataDir, echo)
    t.after(() => control.close())
    assert.equal(statSync(join(dataDir, controlSocketName)).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(dataDir), [controlSocketName])

    const request = { method: 'POST', path: '/api/admin/accounts?x=1', body: { email: 'ann@example.com' } }
    const response = await requestControl(dataDir, request)
    assert.equal(response.status, 200)
    assert.deepEqual(JSON.parse(response.text), {
      method: 'POST',
      at: '/api/admin/accounts?x=1',
      body: '{"email":"ann@example.com"}',
    })
  })

  test('data directory with a long path – has a socket', async (t) => {
    const dataDir = folder(t, 8)
    assert.ok(dataDir.length > 200)
    assert.equal(await isRelayRunning(dataDir), false)
    const control = await serveControlSocket(dataDir, echo)
    assert.equal(await isRelayRunning(dataDir), true)
    assert.equal((await requestControl(dataDir, { method: 'GET', path: '/' })).status, 200)
    await control.close()
    assert.deepEqual(readdirSync(dataDir), [])
  })

  test('no relay – is reported, even if a killed one left its socket', async (t) => {
    const dataDir = folder(t)
    await assert.rejects(requestControl(dataDir, { method: 'GET', path: '/' }), RelayNotRunningError)
    assert.equal(await isRelayRunning(dataDir), false)

    const path = join(dataDir, controlSocketName)
    const killed = createServer()
    await new Promise<void>((resolve) => killed.listen(`${path}.old`, resolve))
    // Renamed while its owner runs, the file stays when the owner exits.
    renameSync(`${path}.old`, path)
    await new Promise((resolve) => killed.close(resolve))
    assert.ok(statSync(path).isSocket())
    assert.equal(await isRelayRunning(dataDir), false)

    const control = await serveControlSocket(dataDir, echo)
    t.after(() => control.close())
    assert.equal((await requestControl(dataDir, { method: 'GET', path: '/' })).status, 200)
  })

  test('other file in place of the socket – is replaced', async (t) => {
    const dataDir = folder(t)
    writeFileSync(join(dataDir, controlSocketName), 'not a socket')
    const control = await serveControlSocket(dataDir, echo)
    t.after(() => control.close())
    assert.equal((await requestControl(dataDir, { method: 'GET', path: '/' })).status, 200)
  })

  test('error of a handler – an ApiError keeps its message, any other does not', async (t) => {
    const dataDir = folder(t)
    const handler = (request: Request): Promise<Response> =>
      Promise.reject(request.url.endsWith('/known') ? apiError('not_found') : new Error('the secret is 42'))
    const control = await serveControlSocket(dataDir, handler)
    t.after(() => control.close())
    const known = await requestControl(dataDir, { method: 'GET', path: '/known' })
    assert.equal(known.status, 404)
    const internal = await requestControl(dataDir, { method: 'GET', path: '/' })
    assert.equal(internal.status, 500)
    assert.doesNotMatch(internal.text, /42/)
  })

  test('running request – completes before the socket closes', async (t) => {
    const dataDir = folder(t)
    const entered = Promise.withResolvers<void>()
    const leave = Promise.withResolvers<void>()
    const control = await serveControlSocket(dataDir, async () => {
      entered.resolve()
      await leave.promise
      return Response.json({})
    })
    const response = requestControl(dataDir, { method: 'GET', path: '/' })
    await entered.promise
    const closed = control.close()
    leave.resolve()
    assert.equal((await response).status, 200)
    await closed
  })

  test('relay that stops without a response – is reported', async (t) => {
    const dataDir = folder(t)
    const path = join(dataDir, controlSocketName)
    const server = createServer((socket) => socket.once('data', () => socket.destroy()))
    await new Promise<void>((resolve) => server.listen(path, resolve))
    t.after(() => server.close())
    await assert.rejects(
      requestControl(dataDir, { method: 'GET', path: '/' }),
      /The relay stopped before it responded/,
    )
  })
})
