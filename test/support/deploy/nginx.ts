/** The nginx examples that we ship, run as they are but for addresses and the place of their files. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { cert, key } from '../../../src/lib/certificate.fixture.ts'
import { freePort } from '../upstream/unreachable-addresses.ts'
import { root } from '../source-files.ts'

const startWithinMs = 60_000
/** The release in which open nginx learnt to look names up again. */
const resolving = [1, 27, 3]

function release(): number[] | null {
  const { status, stderr } = spawnSync('nginx', ['-v'], { encoding: 'utf8' })
  const found = status === 0 ? /nginx\/(\d+)\.(\d+)\.(\d+)/.exec(stderr) : null
  return found?.slice(1).map(Number) ?? null
}

/** Why stories with nginx are left out here; false where they run. */
export const withoutNginx: string | false = release() === null ? 'nginx is not installed here' : false

function canResolve(): boolean {
  const here = release() ?? []
  const difference = resolving.map((part, index) => (here[index] ?? 0) - part).find((part) => part !== 0)
  return (difference ?? 0) >= 0
}

export interface Nginx {
  readonly port: number
}

/** Starts the example of this name in front of these addresses, for one test, which stops it. */
export async function openNginx(
  t: TestContext,
  name: 'sluice' | 'compose',
  urls: readonly string[],
  adjusted: (conf: string) => string = (conf) => conf,
): Promise<Nginx> {
  const place = mkdtempSync(join(tmpdir(), 'sluice-nginx-'))
  const port = await freePort()
  writeFileSync(join(place, 'fullchain.pem'), cert)
  writeFileSync(join(place, 'privkey.pem'), key)
  const [shipped = '', terms = ''] =
    /(?:^ {2}server \S+(.*;)\n)+/m.exec(readFileSync(join(root, `deploy/nginx/${name}.conf`), 'utf8')) ?? []
  const servers = urls.map(
    (url) => `  server ${new URL(url).host}${canResolve() ? terms : terms.replace(' resolve', '')}\n`,
  )
  const conf = adjusted(readFileSync(join(root, `deploy/nginx/${name}.conf`), 'utf8'))
    .replace(shipped, servers.join(''))
    .replaceAll('/etc/letsencrypt/live/relay.example.com', place)
    .replace(/listen \d+/, `listen 127.0.0.1:${port}`)
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${join(place, kind)};`,
  )
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  writeFileSync(
    join(place, 'nginx.conf'),
    `${user} daemon off; pid ${join(place, 'pid')}; error_log stderr; events {}
    http { access_log off; ${paths.join(' ')} ${conf} }`,
  )
  const child = spawn('nginx', ['-p', place, '-c', join(place, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let told = ''
  child.stderr.setEncoding('utf8').on('data', (part: string) => (told += part))
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const end = (): void => void child.kill('SIGTERM')
  process.once('exit', end)
  t.after(async () => {
    process.removeListener('exit', end)
    end()
    await exited
    if (t.error !== null) t.diagnostic(told)
    rmSync(place, { recursive: true, force: true })
  })
  for (const start = performance.now(); performance.now() - start < startWithinMs; await delay(20)) {
    if (child.exitCode !== null) break
    if (await listens(port)) return { port }
  }
  throw new Error(`nginx did not start: ${told}`)
}

function listens(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1', () => resolve(true))
  socket.on('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}
