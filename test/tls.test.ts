/** TLS by the relay itself. */
import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { cert, key, makeCertificate } from '../src/lib/certificate.fixture.ts'
import { freePort } from './support/upstream/unreachable-addresses.ts'
import { RelayProcess } from './support/server/relay-process.ts'

const adminKey = 'admin-key-of-the-tests-0123456789'

interface Reply {
  readonly status: number
  readonly text: string
}

/** One call over TLS, trusting this certificate; rejects when the other side shows another. */
function call(port: number, ca: string, path: string, body?: object): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>()
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  const options = { port, host: '127.0.0.1', path, ca, headers, method: body ? 'POST' : 'GET', agent: false }
  const outgoing = request(options, (incoming) => {
    let text = ''
    incoming.setEncoding('utf8').on('data', (part: string) => (text += part))
    incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, text }))
  })
  outgoing.on('error', reject)
  outgoing.end(body ? JSON.stringify(body) : undefined)
  return promise
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const start = performance.now(); performance.now() - start < 60_000; await delay(100)) {
    if (await isSo().catch(() => false)) return
  }
  assert.fail('it never came to be')
}

interface Place {
  readonly folder: string
  readonly certFile: string
  readonly keyFile: string
}

function place(t: TestContext): Place {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-story-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
  return { folder, certFile, keyFile }
}

test('with a certificate the port speaks HTTPS for every door, and a renewed one is taken while it runs', async (t) => {
  const { folder, certFile, keyFile } = place(t)
  const port = await freePort()
  const env = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, DEMO: '1', WORKERS: '2' }
  const relay = new RelayProcess({ dataDir: join(folder, 'data'), env }, port)
  t.after(() => relay.kill())
  await until(async () => (await call(port, cert, '/readyz')).status === 200)

  const [, secret] = /Bearer (sk-[^']+)'/.exec(relay.lines.join('\n')) ?? []
  assert.ok(secret && relay.lines.some((line) => line.includes(`https://127.0.0.1:${port}/v1`)))
  const accounts = await call(port, cert, '/api/admin/accounts')
  assert.equal(accounts.status, 200)
  const stream = new Promise<Reply>((resolve, reject) => {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
    const path = '/v1/chat/completions'
    const outgoing = request(
      { port, host: '127.0.0.1', path, ca: cert, headers, method: 'POST' },
      (incoming) => {
        let text = ''
        incoming.setEncoding('utf8').on('data', (part: string) => (text += part))
        incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, text }))
      },
    )
    outgoing.on('error', reject)
    const messages = [{ role: 'user', content: 'Hello!' }]
    outgoing.end(JSON.stringify({ model: 'family-a-small', messages, stream: true, max_tokens: 20 }))
  })
  assert.match((await stream).text, /data: \[DONE\]\n\n$/)

  const renewed = makeCertificate()
  writeFileSync(`${certFile}.new`, 'not a certificate')
  renameSync(`${certFile}.new`, certFile)
  await until(() => Promise.resolve(relay.lines.some((line) => line.includes('the old one stays'))))
  assert.equal((await call(port, cert, '/healthz')).status, 200)
  writeFileSync(keyFile, renewed.key)
  writeFileSync(certFile, renewed.cert)
  await until(async () => (await call(port, renewed.cert, '/healthz')).status === 200)
  // One worker may take it before the other does.
  const withOld = () => Promise.allSettled(Array.from({ length: 8 }, () => call(port, cert, '/healthz')))
  await until(async () => (await withOld()).every(({ status }) => status === 'rejected'))

  const { code } = await relay.stop()
  assert.equal(code, 0)
})

test('a node that waits for its database speaks HTTPS as well, and ends at once when it is told', async (t) => {
  const { folder, certFile, keyFile } = place(t)
  const [port, nobody] = [await freePort(), await freePort()]
  const env = {
    TLS_CERT_FILE: certFile,
    TLS_KEY_FILE: keyFile,
    DATABASE_URL: `postgres://sluice:geheim@127.0.0.1:${nobody}/sluice`,
  }
  const node = new RelayProcess({ dataDir: join(folder, 'data'), env }, port)
  t.after(() => node.kill())
  await until(async () => (await call(port, cert, '/healthz')).status === 200)
  assert.equal((await call(port, cert, '/readyz')).status, 503)
  assert.deepEqual(await node.stop(), { code: 0, signal: null })
  const told = node.lines.join('\n')
  assert.match(told, /"why":"DATABASE_URL: connect ECONNREFUSED/)
  assert.doesNotMatch(told, /geheim/)
})

test('one file without the other, and two that do not belong together, stop the start by their names', async (t) => {
  const { folder, certFile, keyFile } = place(t)
  const told = async (env: Record<string, string>): Promise<string> => {
    const relay = new RelayProcess({ dataDir: join(folder, 'data'), env }, await freePort())
    assert.notEqual((await relay.exited).code, 0)
    return relay.lines.join('\n')
  }
  assert.match(await told({ TLS_CERT_FILE: certFile }), /TLS_CERT_FILE.*TLS_KEY_FILE/)
  assert.match(await told({ TLS_KEY_FILE: keyFile }), /TLS_KEY_FILE/)
  writeFileSync(keyFile, makeCertificate().key)
  assert.match(
    await told({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile }),
    /TLS_CERT_FILE and TLS_KEY_FILE/,
  )
})
