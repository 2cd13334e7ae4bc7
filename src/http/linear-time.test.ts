/** Whatever bytes a caller sends, parsing them takes linear time: one request must not occupy a worker's event loop. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, createServer, request, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { cleanEmail } from '../accounts/fields.ts'
import { Directory } from '../accounts/directory.ts'
import { readConfig } from '../config.ts'
import { upstreamUrlProblem } from '../lib/address-guard.ts'
import { createCall, sentBody } from '../providers/contract.fixture.ts'
import { findProvider } from '../providers/registry.ts'
import { adminApiKey, startAdminServer } from './admin/admin-server.fixture.ts'
import { authenticateByKey } from './admin/admin-context.ts'
import { createAdminApp } from './admin/app.ts'
import { decodeCursor } from './api/json-values.ts'
import { ApiKeyAuth } from './api-key-auth.ts'
import { readSessionToken } from './console/auth/session-cookie.ts'
import { matchesEtag, negotiateEncoding, parseBearer } from './header-values.ts'
import { consoleListener } from './static-files.ts'
import { negotiateLanguage } from './public-pages/language.ts'

/** Parses a hostile input; errors are expected. */
type Parse = (input: string) => unknown

const shortLength = 4000
const repetitions = 5
/** Repeated until it takes at least this long, so that the clock's resolution does not matter. */
const minMeasuredMs = 2

async function cpuMs(run: () => unknown, times: number): Promise<number> {
  const start = process.cpuUsage()
  for (let i = 0; i < times; i += 1) {
    try {
      await run()
    } catch {
      // Rejecting the input is fine.
    }
  }
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

/** How much more CPU time four times the input takes: about 4 if linear, about 16 if quadratic. */
async function growth(parse: Parse, hostile: (length: number) => string): Promise<number> {
  const [short, long] = [hostile(shortLength), hostile(4 * shortLength)]
  let times = 1
  while ((await cpuMs(() => parse(short), times)) < minMeasuredMs) times *= 2
  let [shortMs, longMs] = [Infinity, Infinity]
  for (let i = 0; i < repetitions; i += 1) {
    shortMs = Math.min(shortMs, await cpuMs(() => parse(short), times))
    longMs = Math.min(longMs, await cpuMs(() => parse(long), times))
  }
  return longMs / shortMs
}

async function assertLinear(parse: Parse, hostile: (length: number) => string): Promise<void> {
  const ratio = await growth(parse, hostile)
  assert.ok(ratio < 8, `4 times the bytes take ${ratio.toFixed(1)} times as long`)
}

const spaces = (length: number): string => `a${' '.repeat(length)}b`
const repeat =
  (unit: string, end = '') =>
  (length: number): string =>
    unit.repeat(length / unit.length) + end

function geminiBody(url: string): unknown {
  const provider = findProvider('gemini')
  assert.ok(provider)
  const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
  return sentBody(provider, createCall(provider, { messages }))
}

const config = readConfig({})
const keys = new ApiKeyAuth(new Directory(), ['10.0.0.0/8'])

const parsers: Readonly<Record<string, readonly [Parse, (length: number) => string]>> = {
  'Accept-Encoding, spaces': [(text) => negotiateEncoding(text, ['br', 'gzip']), spaces],
  'Accept-Encoding, parameters': [(text) => negotiateEncoding(text, ['br']), repeat(';q=0.0', '1')],
  'If-None-Match, spaces': [(text) => matchesEtag(text, '"x"'), spaces],
  'If-None-Match, tags': [(text) => matchesEtag(text, '"x"'), repeat('"y" , ')],
  'Authorization of the admin API': [(text) => parseBearer(`Bearer ${text}`), spaces],
  'Authorization of callers': [(text) => keys.authenticate(`Bearer ${text}`), spaces],
  'x-api-key': [(text) => keys.authenticateEither(text, undefined), spaces],
  'X-Forwarded-For': [(text) => keys.clientAddress('10.0.0.1', text), repeat('[:1]:1,')],
  'X-Forwarded-For, digits': [(text) => keys.clientAddress('10.0.0.1', text), repeat('1.1.1.', ':')],
  Cookie: [(text) => readSessionToken(config, text), repeat(';  ')],
  'Accept-Language': [(text) => negotiateLanguage(null, text), repeat('a;q=1 ,')],
  cursor: [
    (text) => decodeCursor(Buffer.from(text).toString('base64url'), /^\d+\.-?\d+$/),
    repeat('1', '.-'),
  ],
  'e-mail address': [cleanEmail, (length) => `a@${'b.'.repeat(length / 2)}@`],
  'URL of an upstream': [(text) => upstreamUrlProblem(text, []), (length) => `http://${'.'.repeat(length)}a`],
  'file URL for Gemini': [geminiBody, repeat('.a?a', '\n')],
}

describe('parsers of callers’ bytes', () => {
  for (const [name, [parse, hostile]] of Object.entries(parsers)) {
    test(`${name} – takes linear time`, async () => {
      await assertLinear(parse, hostile)
    })
  }
})

/** Sends requests to a listener in this thread, which accepts longer heads than the relay. */
async function startListener(t: TestContext, listener: RequestListener) {
  const server = createServer({ maxHeaderSize: 1024 ** 2 }, listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const agent = new Agent({ keepAlive: true })
  t.after(() => {
    agent.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return async (path: string, headers: Record<string, string>): Promise<void> => {
    const sent = request({ host: '127.0.0.1', port, path, headers, agent }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    await once(response.resume(), 'end')
  }
}

describe('endpoints', () => {
  for (const header of ['accept-encoding', 'if-none-match']) {
    test(`console files – ${header} takes linear time`, async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'sluice-console-'))
      t.after(() => rm(folder, { recursive: true }))
      await writeFile(join(folder, 'index.html'), '<!doctype html>')
      const listener = consoleListener(folder)
      const send = await startListener(t, (incoming, outgoing) => void listener(incoming, outgoing))
      await assertLinear((text) => send('/console/', { [header]: text }), spaces)
    })
  }

  test('admin API – the key, the path, the query and the fields take linear time', async (t) => {
    const { ctx } = await startAdminServer(t)
    const app = createAdminApp(ctx, { authenticate: authenticateByKey(adminApiKey) })
    const send = (path: string, key = adminApiKey, body?: string): unknown =>
      app.request(`http://relay.test/api/admin${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body }),
      })
    await assertLinear((text) => send('/tiers', text), spaces)
    await assertLinear((text) => send(`/models/${text}`), repeat('/prices', '/'))
    await assertLinear((text) => send(`/nothing${text}`), repeat('/x'))
    await assertLinear((text) => send(`/accounts?${text}`), repeat('a=b&'))
    await assertLinear(
      (text) => send('/accounts', adminApiKey, text),
      (length) =>
        JSON.stringify(
          Object.fromEntries(Array.from({ length: length / 8 }, (_, index) => [`a${index}`, 1])),
        ),
    )
  })
})
