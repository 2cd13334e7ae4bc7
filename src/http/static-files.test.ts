import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { consoleListener, isConsolePath } from './static-files.ts'

const script = 'export const long = 1\n'.repeat(100)
let url = ''
let port = 0
let folder = ''
const servers: ReturnType<typeof createServer>[] = []

async function startServer(dist: string): Promise<number> {
  const listener = consoleListener(dist)
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing))
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-console-'))
  const dist = join(folder, 'dist')
  await mkdir(join(dist, 'assets'), { recursive: true })
  await writeFile(join(folder, 'secret.txt'), 'not for you')
  await writeFile(join(dist, 'index.html'), '<!doctype html><title>Sluice</title>')
  await writeFile(join(dist, 'assets/main-abc123.js'), script)
  await writeFile(join(dist, 'assets/main-abc123.js.gz'), gzipSync(script))
  await writeFile(join(dist, 'assets/main-abc123.js.br'), brotliCompressSync(script))
  port = await startServer(dist)
  url = `http://127.0.0.1:${port}`
})

after(async () => {
  for (const server of servers) server.close()
  await rm(folder, { recursive: true, force: true })
})

function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> {
  return fetch(`${url}${path}`, { method, redirect: 'manual', headers })
}

/** Sends the path as it is; an HTTP client would normalize it. */
async function rawStatus(path: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
  let text = ''
  for await (const bytes of socket) text += String(bytes)
  return text.replace(/^HTTP\/1\.1 (\d+)[\s\S]*?\r\n\r\n/, '$1 ')
}

describe('consoleListener', () => {
  test('pages – / redirects to the console; every page is index.html, no-cache', async () => {
    for (const path of ['/', '/console', '/?a=1']) {
      const response = await get(path)
      assert.equal(response.status, 302)
      assert.equal(response.headers.get('location'), '/console/')
    }
    for (const path of ['/console/', '/console/keys?x=1', '/console/operator/models/family%2Fa-4.1']) {
      const response = await get(path)
      assert.equal(response.status, 200, path)
      assert.equal(response.headers.get('cache-control'), 'no-cache')
      assert.match(await response.text(), /Sluice/)
    }
  })

  test('content security policy – no inline code, no other origins', async () => {
    const policy = (await get('/console/')).headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.doesNotMatch(policy, /unsafe|nonce|https?:|\*/)
  })

  test('hashed assets – immutable, in the accepted encoding, 304 by ETag', async () => {
    const expected = {
      br: 'br',
      'gzip, deflate, br': 'br',
      'gzip;q=0.5': 'gzip',
      'br;q=0, gzip': 'gzip',
      '': null,
    }
    for (const [accepted, encoding] of Object.entries(expected)) {
      const response = await get('/console/assets/main-abc123.js', { 'accept-encoding': accepted })
      assert.equal(response.headers.get('content-encoding'), encoding, accepted)
      assert.equal(response.headers.get('vary'), 'accept-encoding')
      assert.equal(response.headers.get('cache-control'), 'public, max-age=31536000, immutable')
      assert.equal(await response.text(), script)
      const etag = response.headers.get('etag') ?? ''
      const second = await get('/console/assets/main-abc123.js', {
        'accept-encoding': accepted,
        'if-none-match': etag,
      })
      assert.equal(second.status, 304)
    }
  })

  test('methods – HEAD has no body; others get 405', async () => {
    const head = await get('/console/assets/main-abc123.js', { 'accept-encoding': 'identity' }, 'HEAD')
    assert.equal(head.headers.get('content-length'), String(script.length))
    assert.equal(await head.text(), '')
    const posted = await get('/console/', {}, 'POST')
    assert.equal(posted.status, 405)
    assert.equal(posted.headers.get('allow'), 'GET, HEAD')
  })

  test('path traversal and missing files – 404', async () => {
    const paths = [
      '/console/../secret.txt',
      '/console/assets/../../secret.txt',
      '/console/..%2f..%2fsecret.txt',
      '/console/%2e%2e/secret.txt',
      '/console/..\\secret.txt',
      '/console//etc/passwd.txt',
      '/console/assets/main-abc123.js.gz',
      '/console/assets/gone-000000.js',
      '/console/assets/',
    ]
    for (const path of paths) assert.match(await rawStatus(path), /^404 Not found/, path)
  })

  test('build while running – served from then on', async () => {
    const dist = join(folder, 'later')
    const later = await startServer(dist)
    assert.equal((await fetch(`http://127.0.0.1:${later}/console/`)).status, 503)
    await mkdir(dist)
    await writeFile(join(dist, 'index.html'), 'first')
    assert.equal(await (await fetch(`http://127.0.0.1:${later}/console/`)).text(), 'first')
    await writeFile(join(dist, 'new.js'), 'new')
    await utimes(join(dist, 'index.html'), 1, 1)
    assert.equal(await (await fetch(`http://127.0.0.1:${later}/console/new.js`)).text(), 'new')
  })

  test('missing build – 503 with instructions', async () => {
    const empty = await startServer(join(folder, 'nowhere'))
    const response = await fetch(`http://127.0.0.1:${empty}/console/`)
    assert.equal(response.status, 503)
    assert.match(await response.text(), /npm ci --include=dev/)
  })

  test('isConsolePath – only / and /console', () => {
    for (const url of ['/', '/?a', '/console', '/console?a', '/console/x']) assert.ok(isConsolePath(url), url)
    for (const url of ['/v1/models', '/api/admin', '/status', '/consoles', '/healthz', '//console/']) {
      assert.ok(!isConsolePath(url), url)
    }
  })
})
