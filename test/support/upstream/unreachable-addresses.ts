/** Addresses of upstreams that cannot be reached, each for a different reason. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/**
 * A free port. It is below the range of ephemeral ports and picked at random, so that no other process takes it between
 * this check and its use.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const port = 15_000 + Math.floor(Math.random() * 15_000)
    const server = createServer().listen(port, '127.0.0.1')
    const opened = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!opened) continue
    server.close()
    await once(server, 'close')
    return port
  }
  throw new Error('no free port between 15000 and 30000')
}

/** A base URL where every connection is refused. */
export async function connectionRefusedUrl(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}/v1`
}

/** A base URL whose name no resolver knows (RFC 6761, section 6.4). */
export const unresolvableUrl = 'http://nowhere.invalid/v1'

export interface UnreachableAddress {
  url: string
  close(): Promise<void>
}

/** A base URL with https whose server does not speak TLS. */
export async function brokenTls(): Promise<UnreachableAddress> {
  const server = createServer((socket) => socket.on('error', ignoreError).resume().end('This is not TLS.\n'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: async () => {
      server.close()
      await once(server, 'close')
    },
  }
}

/**
 * A base URL where connections are neither accepted nor refused: the listening process is stopped and its backlog is
 * full, so the kernel drops new connections.
 */
export async function blackhole(): Promise<UnreachableAddress> {
  const listen = `require('net').createServer().listen({port:0,host:'127.0.0.1',backlog:1},function(){process.send(this.address().port)})`
  const child = spawn(process.execPath, ['-e', listen], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const [port] = (await once(child, 'message')) as [number]
  child.kill('SIGSTOP')
  const fillers: Socket[] = []
  for (let queued = true; queued && fillers.length < 16;) {
    const filler = connect(port, '127.0.0.1').on('error', ignoreError)
    fillers.push(filler)
    const signal = AbortSignal.timeout(200)
    queued = await once(filler, 'connect', { signal }).then(
      () => true,
      () => false,
    )
  }
  return {
    url: `http://127.0.0.1:${port}/v1`,
    close: async () => {
      for (const filler of fillers) filler.destroy()
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

/** A peer that closes the connection is expected here. */
function ignoreError(): void {}
