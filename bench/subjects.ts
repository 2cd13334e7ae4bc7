/**
 * The subjects that are compared: nginx as a plain proxy (the kernel's minimum), the baseline relay, and the
 * product. Each runs in its own process in front of the same upstream, with the same number of workers.
 */

import { fork, spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { freePort } from '../test/support/upstream/unreachable-addresses.ts'
import { waitUntil } from '../test/support/wait.ts'

export type SubjectName =
  | 'direct'
  | 'nginx'
  | 'baseline'
  | 'sluice'
  | 'anthropic'
  | 'gemini'
  | 'translated'
  | 'portkey'
  | 'litellm'

export interface Subject {
  readonly name: SubjectName
  readonly title: string
  readonly port: number
  /** The key that clients send: `Authorization: Bearer <key>`. */
  readonly key: string
  /** Lines that clients add to the head of each request. */
  readonly headers?: readonly string[]
  /** The model that clients request, unless it is the default. */
  readonly model?: string
  /** Whether responses arrive byte for byte; default: for the default model. */
  readonly isPassthrough?: boolean
  /** The root of its process tree. 0 for the upstream itself, whose cost is not measured. */
  readonly pid: number
  /**
   * Checks that this many more responses were charged since the last check. Throws if the balance differs.
   */
  checkCharged?(answers: number): Promise<void>
  /** The number of durable commits so far. Its threads are measured one by one, too. */
  countCommits?(): number
  /** Verifies the ledger. Throws if it does not verify or something is still held. */
  verify?(): Promise<void>
  stop(): Promise<void>
}

export interface BenchEnvironment {
  upstreamPort: number
  workers: number
  /** A directory of its own, removed by the caller. */
  directory: string
}

const key = 'sk-bench-0123456789abcdef0123456789abcdef'

/** Starts the upstream of the benchmark. */
export async function startUpstream(paceMs: number): Promise<Subject> {
  const child = fork(pathOf('./upstream.ts'), [String(paceMs)])
  const [port] = (await once(child, 'message')) as [number]
  return { name: 'direct', title: 'upstream, direct', port, key, pid: 0, stop: () => end(child) }
}

export async function startBaselineRelay(environment: BenchEnvironment): Promise<Subject> {
  const port = await freePort()
  const args = [port, environment.upstreamPort, environment.workers, key].map(String)
  const child = fork(pathOf('./baseline-relay.ts'), args)
  await waitUntilListening(port, child)
  return { name: 'baseline', title: 'baseline relay', port, key, pid: child.pid ?? 0, stop: () => end(child) }
}

/** The version of nginx on this machine. undefined: not installed. */
export function nginxVersion(): string | undefined {
  const { stderr } = spawnSync('nginx', ['-v'], { encoding: 'utf8' })
  return /nginx\/(\S+)/.exec(stderr ?? '')?.[1]
}

export async function startNginx(environment: BenchEnvironment): Promise<Subject> {
  const port = await freePort()
  const prefix = join(environment.directory, 'nginx')
  mkdirSync(prefix)
  writeFileSync(join(prefix, 'nginx.conf'), nginxConfiguration(port, environment))
  const child = spawn('nginx', ['-p', prefix, '-c', 'nginx.conf', '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  process.once('exit', () => child.kill())
  await waitUntilListening(port, child)
  return {
    name: 'nginx',
    title: 'nginx, plain proxy',
    port,
    key,
    pid: child.pid ?? 0,
    stop: () => end(child),
  }
}

function nginxConfiguration(port: number, environment: BenchEnvironment): string {
  return `
daemon off;
pid nginx.pid;
error_log stderr error;
worker_processes ${environment.workers};
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 1000000000;
  client_body_buffer_size 256k;
  client_body_temp_path client_body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  upstream provider {
    server 127.0.0.1:${environment.upstreamPort};
    keepalive 512;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=1024 reuseport;
    location / {
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`
}

/** Waits until the port accepts connections. */
export async function waitUntilListening(
  port: number,
  child: ChildProcess,
  timeoutMs = 5_000,
): Promise<void> {
  const isListening = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(' ')} has exited`)
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    return isOpen
  }
  await waitUntil(isListening, `${child.spawnargs.join(' ')} to listen on ${port}`, timeoutMs)
}

/** Asks a process to exit, and waits for it. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url))
}
