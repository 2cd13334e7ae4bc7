import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { apiError, asApiError } from '../errors.ts'
import { apiErrors, Channel, ChannelClosedError, type BatchedHandlers } from './channel.ts'

interface Books {
  lend(title: string, copies: bigint): Promise<bigint>
  fail(): Promise<never>
  never(): Promise<void>
  note(text: string): void
}
interface Services {
  readonly books: Books
}
interface Calls {
  add(left: number, right: number): number
  note(text: string): void
}

/** A caller, and the other end with what it has received in order. */
function connect(t: TestContext) {
  const { port1, port2 } = new MessageChannel()
  const notes: string[] = []
  const noted = Promise.withResolvers<void>()
  const note = (text: string): void => {
    notes.push(text)
    if (text === 'last') noted.resolve()
  }
  const caller = new Channel<Services, Calls>(port1, apiErrors(asApiError))
  const other = new Channel(port2, apiErrors(asApiError))
  const books: Books = {
    lend: async (title, copies) => copies + BigInt(title.length),
    fail: () => Promise.reject(apiError('insufficient_quota')),
    never: () => new Promise(() => undefined),
    note,
  }
  const batched: BatchedHandlers<Calls> = {
    add: (callId, left, right) =>
      left < 0 ? other.replyError(callId, apiError('conflict')) : other.reply(callId, left + right),
    note: (_callId, text) => note(text),
  }
  other.serve({ services: { books }, batched })
  caller.serve({})
  t.after(() => {
    caller.close()
    other.close()
  })
  return { caller, port2, notes, noted: noted.promise }
}

describe('Channel', () => {
  test('services – results, bigints and API errors arrive', async (t) => {
    const { caller } = connect(t)
    const books = caller.proxy('books')
    assert.equal(await books.lend('Moby', 3n), 7n)
    await assert.rejects(books.fail(), { code: 'insufficient_quota' })
  })

  test('batched calls – are one message for a turn, each with its own result or error', async (t) => {
    const { caller, port2 } = connect(t)
    let messages = 0
    port2.on('message', () => (messages += 1))
    const sums = await Promise.all([caller.callBatched('add', 1, 2), caller.callBatched('add', 3, 4)])
    assert.deepEqual(sums, [3, 7])
    assert.equal(messages, 1)
    await assert.rejects(caller.callBatched('add', -1, 2), { code: 'conflict' })
  })

  test('order – a service call sent before a batched call of the same turn arrives before it', async (t) => {
    const { caller, notes, noted } = connect(t)
    caller.sendBatched('note', 'batched')
    caller.send('books', 'note', 'direct')
    caller.sendBatched('note', 'last')
    await noted
    assert.deepEqual(notes, ['direct', 'batched', 'last'])
  })

  test('unknown service, method or batched call – is an error', async (t) => {
    const { port1, port2 } = new MessageChannel()
    const caller = new Channel<{ books: { burn(): Promise<void> }; films: Books }, { burn(): void }>(port1)
    const other = new Channel(port2).serve({ services: { books: {} } })
    caller.serve({})
    t.after(() => other.close())
    await assert.rejects(caller.proxy('books').burn(), /Unknown call: books.burn/)
    await assert.rejects(caller.proxy('films').fail(), /Unknown call: films.fail/)
    await assert.rejects(caller.callBatched('burn'), /Unknown call: burn/)
  })

  test('calls after close – are rejected', async (t) => {
    const { caller } = connect(t)
    caller.close()
    await assert.rejects(caller.proxy('books').lend('Moby', 3n), ChannelClosedError)
    await assert.rejects(caller.callBatched('add', 1, 2), ChannelClosedError)
    caller.send('books', 'note', 'nobody hears it')
  })

  test('finish – answers what was sent before', async () => {
    const { port1, port2 } = new MessageChannel()
    const caller = new Channel<Services>(port1).serve({ keepsAlive: false })
    const lend = async (title: string, copies: bigint) => setImmediate(copies + BigInt(title.length))
    const other = new Channel(port2).serve({ services: { books: { lend } } })
    const lent = [caller.proxy('books').lend('Moby', 3n), caller.proxy('books').lend('Emma', 1n)]
    await other.finish()
    assert.deepEqual(await Promise.all(lent), [7n, 5n])
    await assert.rejects(caller.proxy('books').lend('Moby', 3n), ChannelClosedError)
  })

  test('ports among the arguments – are transferred', async (t) => {
    const { port1, port2 } = new MessageChannel()
    const { port1: given, port2: kept } = new MessageChannel()
    const caller = new Channel<{ books: { deliver(to: MessagePort): void } }>(port1).serve({})
    const deliver = (to: MessagePort): void => to.postMessage('Emma')
    new Channel(port2).serve({ services: { books: { deliver } } })
    t.after(() => [caller.close(), kept.close()])
    caller.send('books', 'deliver', given)
    assert.deepEqual(await once(kept, 'message'), ['Emma'])
  })

  test('other thread exits – open calls are rejected', async (t) => {
    const { caller, port2 } = connect(t)
    const calls = [caller.proxy('books').never(), caller.callBatched('add', 1, 1)]
    const rejected = calls.map((call) => assert.rejects(call, ChannelClosedError))
    const closed = once(port2, 'close')
    caller.close()
    await Promise.all(rejected)
    await closed
  })

  test('proxies – can be awaited; one with named methods can be copied', async (t) => {
    const { caller } = connect(t)
    const books = await Promise.resolve(caller.proxy('books'))
    assert.equal(await books.lend('Emma', 1n), 5n)
    const copy = { ...caller.proxyOf('books', ['lend']), title: 'Persuasion' }
    assert.equal(await copy.lend(copy.title, 1n), 11n)
  })
})
