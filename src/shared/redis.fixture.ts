/** A real redis-server for tests, on a loopback port and without persistence. */

import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { connect, createServer, type AddressInfo } from 'node:net'
import { waitUntil } from '../../test/support/wait.ts'

const program = 'redis-server'
const startTimeoutMs = 10_000

/** Why Redis tests are skipped; false if they run. */
export const redisSkipReason: string | false =
  spawnSync(program, ['--version']).status === 0 ? false : 'redis-server is not installed here'

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Sends one command and returns the reply; empty if there is none. */
function sendCommand(port: number, command: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const socket = connect({ host: '127.0.0.1', port }, () => socket.write(`${command}\r\n`))
  socket.on('data', (bytes) => {
    resolve(bytes.toString())
    socket.destroy()
  })
  socket.on('error', () => resolve(''))
  return promise
}

export class RedisServer {
  readonly url: string
  readonly #port: number
  #process: ChildProcess | undefined

  constructor(port: number) {
    this.#port = port
    this.url = `redis://127.0.0.1:${port}`
    process.once('exit', () => this.#process?.kill('SIGKILL'))
  }

  async start(): Promise<void> {
    const settings = ['--port', String(this.#port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
    this.#process = spawn(program, settings, { stdio: 'ignore' })
    const isListening = async (): Promise<boolean> =>
      (await sendCommand(this.#port, 'PING')).startsWith('+PONG')
    await waitUntil(isListening, 'redis-server to start', startTimeoutMs)
  }

  /** Makes this server a replica of another, which rejects writes. */
  async replicate(other: RedisServer): Promise<void> {
    const reply = await sendCommand(this.#port, `REPLICAOF 127.0.0.1 ${other.#port}`)
    if (!reply.startsWith('+OK')) throw new Error(`redis-server: ${reply}`)
  }

  /** Freezes or resumes the process, like a frozen machine. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process?.kill(signal)
  }

  async stop(): Promise<void> {
    const ended = this.#process
    if (ended === undefined || ended.exitCode !== null) return
    const exit = new Promise((resolve) => ended.once('exit', resolve))
    ended.kill('SIGKILL')
    await exit
    this.#process = undefined
  }
}

export async function startRedis(): Promise<RedisServer> {
  const server = new RedisServer(await freePort())
  await server.start()
  return server
}
