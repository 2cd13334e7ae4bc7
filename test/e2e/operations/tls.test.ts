// @backend both (cluster in long runs)
/** TLS termination by the relay itself. */
import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { cert, key, makeCertificate } from '../../../src/lib/certificate.fixture.ts'
import { ResponsesSocket } from '../../support/client/responses-websocket.ts'
import { freePort } from '../../support/upstream/unreachable-addresses.ts'
import { RelayProcess } from '../../support/server/relay-process.ts'
import { waitUntil } from '../../support/wait.ts'

const adminKey = 'admin-key-of-the-tests-0123456789'

interface TlsResponse {
  readonly status: number
  readonly text: string
  readonly headers?: IncomingHttpHeaders
}

/** One request over TLS that trusts only this certificate. */
function sendRequest(port: number, ca: string, path: string, body?: object): Promise<TlsResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<TlsResponse>()
  const origin = `https://127.0.0.1:${port}`
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json', origin }
  const options = { port, host: '127.0.0.1', path, ca, headers, method: body ? 'POST' : 'GET', agent: false }
  const outgoing = request(options, (incoming) => {
    let text = ''
    incoming.setEncoding('utf8').on('data', (part: string) => (text += part))
    incoming.on('end', () => {
      resolve({ status: incoming.statusCode ?? 0, text, headers: incoming.headers })
    })
  })
  outgoing.on('error', reject)
  outgoing.end(body ? JSON.stringify(body) : undefined)
  return promise
}

/** Waits until a request succeeds: the port is open, with this certificate. */
async function waitUntilServed(port: number, authority: string, path: string): Promise<void> {
  const isServed = (): Promise<boolean> =>
    sendRequest(port, authority, path).then(
      ({ status }) => status === 200,
      () => false,
    )
  await waitUntil(isServed, `${path} to respond`)
}

interface CertificateFiles {
  readonly folder: string
  readonly certFile: string
  readonly keyFile: string
}

function createCertificate(t: TestContext): CertificateFiles {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
  return { folder, certFile, keyFile }
}

describe('TLS', () => {
  test('Certificate – enables HTTPS for every endpoint, and a renewed one is reloaded', async (t) => {
    const { folder, certFile, keyFile } = createCertificate(t)
    const port = await freePort()
    const env = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, DEMO: '1', WORKERS: '2' }
    const relay = new RelayProcess({ dataDir: join(folder, 'data'), env }, port)
    t.after(() => relay.kill())
    await waitUntilServed(port, cert, '/readyz')

    // What the start prints may arrive after the first response.
    const printed = (): string => relay.lines.join('\n')
    await waitUntil(() => printed().includes(`https://localhost:${port}/v1`) && /Bearer sk-/.test(printed()))
    const [, secret] = /Bearer (sk-[^']+)'/.exec(printed()) ?? []
    const accounts = await sendRequest(port, cert, '/api/admin/accounts')
    assert.equal(accounts.status, 200)
    const stream = new Promise<TlsResponse>((resolve, reject) => {
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
    const socket = await ResponsesSocket.open(`https://127.0.0.1:${port}`, String(secret), { ca: cert })
    await socket.respond({ model: 'family-a-small', input: 'Hello!', max_output_tokens: 20 })
    await socket.close()

    const renewed = makeCertificate()
    writeFileSync(`${certFile}.new`, 'not a certificate')
    renameSync(`${certFile}.new`, certFile)
    await waitUntil(() => relay.lines.some((line) => line.includes('TLS certificate reload failed')))
    assert.equal((await sendRequest(port, cert, '/healthz')).status, 200)
    writeFileSync(keyFile, renewed.key)
    writeFileSync(certFile, renewed.cert)
    await waitUntilServed(port, renewed.cert, '/healthz')
    // The workers reload the certificate one after the other.
    const requestsWithOldCertificate = () =>
      Promise.allSettled(Array.from({ length: 8 }, () => sendRequest(port, cert, '/healthz')))
    await waitUntil(async () =>
      (await requestsWithOldCertificate()).every(({ status }) => status === 'rejected'),
    )

    const { code } = await relay.stop()
    assert.equal(code, 0)
  })

  test('Browser – gets a secure cookie and strict transport security', async (t) => {
    const { folder, certFile, keyFile } = createCertificate(t)
    const port = await freePort()
    const env = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, SIGN_UP: 'open' }
    const relay = new RelayProcess({ dataDir: join(folder, 'data'), env }, port)
    t.after(() => relay.kill())
    await waitUntilServed(port, cert, '/readyz')
    const body = { email: 'ann@example.com', password: 'a long harbour name' }
    const signUp = await sendRequest(port, cert, '/api/console/sign-up', body)
    assert.equal(signUp.status, 200, signUp.text)
    assert.match(String(signUp.headers?.['set-cookie']), /^__Host-sluice=[\w-]{43}; .*; Secure;/)
    for (const path of ['/console/', '/api/console/session', '/'])
      assert.match(
        String((await sendRequest(port, cert, path)).headers?.['strict-transport-security']),
        /^max-age=\d{8}/,
        path,
      )
  })

  test('SIGHUP – reloads the certificate, even if the times of its files are the same', async (t) => {
    const { folder, certFile, keyFile } = createCertificate(t)
    const keepTimes = (): void => {
      for (const file of [certFile, keyFile]) utimesSync(file, 1_000_000, 1_000_000)
    }
    keepTimes()
    const port = await freePort()
    const env = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile }
    const relay = new RelayProcess({ dataDir: join(folder, 'data'), env }, port)
    t.after(() => relay.kill())
    await waitUntilServed(port, cert, '/readyz')
    const renewed = makeCertificate()
    writeFileSync(keyFile, renewed.key)
    writeFileSync(certFile, renewed.cert)
    keepTimes()
    relay.signal('SIGHUP')
    await waitUntilServed(port, renewed.cert, '/readyz')
    assert.ok(relay.isRunning)
  })

  test('Node waiting for its database – serves HTTPS and stops at once', async (t) => {
    const { folder, certFile, keyFile } = createCertificate(t)
    const [port, closedPort] = [await freePort(), await freePort()]
    const env = {
      TLS_CERT_FILE: certFile,
      TLS_KEY_FILE: keyFile,
      DATABASE_URL: `postgres://sluice:geheim@127.0.0.1:${closedPort}/sluice`,
    }
    const node = new RelayProcess({ dataDir: join(folder, 'data'), env }, port)
    t.after(() => node.kill())
    await waitUntilServed(port, cert, '/healthz')
    assert.equal((await sendRequest(port, cert, '/readyz')).status, 503)
    assert.deepEqual(await node.stop(), { code: 0, signal: null })
    const output = node.lines.join('\n')
    assert.match(output, /"why":"DATABASE_URL: connect ECONNREFUSED/)
    assert.doesNotMatch(output, /geheim/)
  })

  test('Missing or mismatched TLS file – fails the start with the names of the settings', async (t) => {
    const { folder, certFile, keyFile } = createCertificate(t)
    const startError = async (env: Record<string, string>): Promise<string> => {
      const relay = new RelayProcess({ dataDir: join(folder, 'data'), env }, await freePort())
      assert.notEqual((await relay.exited).code, 0)
      return relay.lines.join('\n')
    }
    assert.match(await startError({ TLS_CERT_FILE: certFile }), /TLS_CERT_FILE.*TLS_KEY_FILE/)
    assert.match(await startError({ TLS_KEY_FILE: keyFile }), /TLS_KEY_FILE/)
    writeFileSync(keyFile, makeCertificate().key)
    assert.match(
      await startError({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile }),
      /TLS_CERT_FILE and TLS_KEY_FILE/,
    )
  })
})
