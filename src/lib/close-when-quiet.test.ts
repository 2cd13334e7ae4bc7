import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { closeWhenQuiet } from './close-when-quiet.ts'

const callers = 40

/** Connects, says so without needing the other thread's loop, and tells in the end what each got. */
const crowd = `
  const { connect } = require('node:net')
  const { parentPort, workerData } = require('node:worker_threads')
  const connected = new Int32Array(workerData.connected)
  const calls = Array.from({ length: ${callers} }, () => new Promise((resolve) => {
    let told = ''
    const socket = connect(workerData.port, '127.0.0.1', () => {
      socket.write('hello')
      Atomics.add(connected, 0, 1)
      Atomics.notify(connected, 0)
    })
    socket.on('data', (part) => (told += part)).on('error', (error) => (told = error.code)).on('close', () => resolve(told))
  }))
  Promise.all(calls).then((told) => parentPort.postMessage(told))
`

test('whoever is connected when the port closes is still taken, and nobody after that', async () => {
  const server = createServer((socket) => void socket.on('data', () => socket.end('welcome')))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const connected = new Int32Array(new SharedArrayBuffer(4))
  const thread = new Worker(crowd, { eval: true, workerData: { port, connected: connected.buffer } })
  const told = once(thread, 'message')
  await once(thread, 'online')
  // This thread takes none of them before all stand in the queue.
  for (let count = 0; count < callers; count = Atomics.load(connected, 0))
    Atomics.wait(connected, 0, count, 60_000)
  await closeWhenQuiet(server)
  assert.deepEqual(
    (await told)[0],
    Array.from({ length: callers }, () => 'welcome'),
  )
  assert.equal(server.listening, false)
})

test('the port closes also where every turn of the loop brings somebody', async () => {
  const server = createServer((socket) => {
    socket.end()
    come()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const refused = Promise.withResolvers<void>()
  const come = (): void => {
    connect(port, '127.0.0.1')
      .resume()
      .on('error', () => refused.resolve())
  }
  for (let count = 0; count < 8; count += 1) come()
  await closeWhenQuiet(server)
  assert.equal(server.listening, false)
  await refused.promise
})
