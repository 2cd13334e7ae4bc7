import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { closeGracefully } from './graceful-close.ts'

const callers = 40

/** Opens connections, counts them in shared memory, and finally posts the reply of each. */
const clientScript = `
  const { connect } = require('node:net')
  const { parentPort, workerData } = require('node:worker_threads')
  const connected = new Int32Array(workerData.connected)
  const calls = Array.from({ length: ${callers} }, () => new Promise((resolve) => {
    let received = ''
    const socket = connect(workerData.port, '127.0.0.1', () => {
      socket.write('hello')
      Atomics.add(connected, 0, 1)
      Atomics.notify(connected, 0)
    })
    socket.on('data', (part) => (received += part)).on('error', (error) => (received = error.code)).on('close', () => resolve(received))
  }))
  Promise.all(calls).then((results) => parentPort.postMessage(results))
`

describe('closeGracefully', () => {
  test('pending connections – are served, and no later ones are accepted', async () => {
    const server = createServer((socket) => void socket.on('data', () => socket.end('welcome')))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const connected = new Int32Array(new SharedArrayBuffer(4))
    const thread = new Worker(clientScript, { eval: true, workerData: { port, connected: connected.buffer } })
    const replies = once(thread, 'message')
    await once(thread, 'online')
    // Blocks this thread, so that it accepts no connection before all are queued.
    for (let count = 0; count < callers; count = Atomics.load(connected, 0))
      Atomics.wait(connected, 0, count, 60_000)
    await closeGracefully(server)
    assert.deepEqual(
      (await replies)[0],
      Array.from({ length: callers }, () => 'welcome'),
    )
    assert.equal(server.listening, false)
  })

  test('long turns of the event loop – do not close, as connections may arrive in them', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const closed = closeGracefully(server)
    const startMs = performance.now()
    for (let turns = 0; turns < 20; turns += 1) {
      await new Promise((resolve) => setImmediate(resolve))
      for (const turnStartMs = performance.now(); performance.now() - turnStartMs < 1;);
      // On a busy machine, the turns last longer than it waits for a short one.
      assert.ok(server.listening || performance.now() - startMs > 500)
    }
    await closed
    assert.equal(server.listening, false)
  })

  test('constant new connections – do not prevent closing', async () => {
    const server = createServer((socket) => {
      socket.end()
      connectAgain()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const refused = Promise.withResolvers<void>()
    const connectAgain = (): void => {
      connect(port, '127.0.0.1')
        .resume()
        .on('error', () => refused.resolve())
    }
    for (let count = 0; count < 8; count += 1) connectAgain()
    await closeGracefully(server)
    assert.equal(server.listening, false)
    await refused.promise
  })
})
