/** Runs the nginx examples that we ship, changed only in their addresses and file paths. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

import { cert, key } from '../../../src/lib/certificate.fixture.ts'
import { freePort } from '../upstream/unreachable-addresses.ts'
import { root } from '../source-files.ts'
import { waitUntil } from '../wait.ts'

const startTimeoutMs = 60_000
/** The first open-source nginx release that resolves upstream names again at run time. */
const resolvingSince = [1, 27, 3]

function installedVersion(): number[] | null {
  const { status, stderr } = spawnSync('nginx', ['-v'], { encoding: 'utf8' })
  const found = status === 0 ? /nginx\/(\d+)\.(\d+)\.(\d+)/.exec(stderr) : null
  return found?.slice(1).map(Number) ?? null
}

/** Why nginx tests are skipped on this machine; false if they run. */
export const nginxSkipReason: string | false = installedVersion() === null ? 'nginx is not installed' : false

function canResolve(): boolean {
  const here = installedVersion() ?? []
  const difference = resolvingSince.map((part, index) => (here[index] ?? 0) - part).find((part) => part !== 0)
  return (difference ?? 0) >= 0
}

export interface Nginx {
  readonly port: number
}

/** Starts this example in front of these URLs for one test. */
export async function startNginx(
  t: TestContext,
  name: 'sluice' | 'compose',
  urls: readonly string[],
  adjust: (conf: string) => string = (conf) => conf,
): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-nginx-'))
  const port = await freePort()
  writeFileSync(join(folder, 'fullchain.pem'), cert)
  writeFileSync(join(folder, 'privkey.pem'), key)
  const [shipped = '', terms = ''] =
    /(?:^ {2}server \S+(.*;)\n)+/m.exec(readFileSync(join(root, `deploy/nginx/${name}.conf`), 'utf8')) ?? []
  const servers = urls.map(
    (url) => `  server ${new URL(url).host}${canResolve() ? terms : terms.replace(' resolve', '')}\n`,
  )
  const conf = adjust(readFileSync(join(root, `deploy/nginx/${name}.conf`), 'utf8'))
    .replace(shipped, servers.join(''))
    .replaceAll('/etc/letsencrypt/live/relay.example.com', folder)
    .replace(/listen \d+/, `listen 127.0.0.1:${port}`)
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${join(folder, kind)};`,
  )
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  writeFileSync(
    join(folder, 'nginx.conf'),
    `${user} daemon off; pid ${join(folder, 'pid')}; error_log stderr; events {}
    http { access_log off; ${paths.join(' ')} ${conf} }`,
  )
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errorOutput = ''
  child.stderr.setEncoding('utf8').on('data', (part: string) => (errorOutput += part))
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const stop = (): void => void child.kill('SIGTERM')
  process.once('exit', stop)
  t.after(async () => {
    process.removeListener('exit', stop)
    stop()
    await exited
    if (t.error !== null) t.diagnostic(errorOutput)
    rmSync(folder, { recursive: true, force: true })
  })
  await waitUntil(
    async () => child.exitCode !== null || (await isListening(port)),
    'nginx to listen',
    startTimeoutMs,
  )
  assert.equal(child.exitCode, null, `nginx did not start: ${errorOutput}`)
  return { port }
}

function isListening(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1', () => resolve(true))
  socket.on('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}
