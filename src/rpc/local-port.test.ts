import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { apiError, asApiError } from '../errors.ts'
import { apiErrors, Channel, ChannelClosedError, type BatchedHandlers } from './channel.ts'
import { LocalPort } from './local-port.ts'

interface Services {
  readonly books: {
    lend(titles: string[]): Promise<string[]>
    note(text: string): void
    never(): Promise<void>
  }
}
interface Calls {
  add(left: number, right: number): number
  note(text: string): void
}

/** Both ends of a connection; `serve` starts the other one, which records notes in order. */
function connect() {
  const [port, otherPort] = LocalPort.createPair()
  const errors = apiErrors(asApiError)
  const caller = new Channel<Services, Calls>(port, errors).serve({})
  const other = new Channel(otherPort, errors)
  const notes: string[] = []
  const batched: BatchedHandlers<Calls> = {
    add: (callId, left, right) =>
      left < 0 ? other.replyError(callId, apiError('conflict')) : other.reply(callId, left + right),
    note: (_callId, text) => void notes.push(text),
  }
  const books: Services['books'] = {
    async lend(titles) {
      titles.push('Emma')
      return titles
    },
    note: (text) => void notes.push(text),
    never: () => new Promise(() => undefined),
  }
  return { caller, notes, serve: () => other.serve({ services: { books }, batched }) }
}

describe('LocalPort', () => {
  test('calls – have results and errors; those of services get copies', async () => {
    const { caller, serve } = connect()
    serve()
    assert.equal(await caller.callBatched('add', 1, 2), 3)
    await assert.rejects(caller.callBatched('add', -1, 2), { code: 'conflict' })
    const titles = ['Moby']
    assert.deepEqual(await caller.proxy('books').lend(titles), ['Moby', 'Emma'])
    assert.deepEqual(titles, ['Moby'])
  })

  test('calls of both kinds – arrive at once in their order, or when the other end is served', () => {
    const { caller, notes, serve } = connect()
    caller.send('books', 'note', 'first')
    caller.sendBatched('note', 'second')
    assert.deepEqual(notes, [])
    serve()
    assert.deepEqual(notes, ['first', 'second'])
    caller.sendBatched('note', 'third')
    caller.send('books', 'note', 'fourth')
    assert.deepEqual(notes, ['first', 'second', 'third', 'fourth'])
  })

  test('closing – rejects the calls of both ends, and later ones do not arrive', async () => {
    const { caller, notes, serve } = connect()
    const other = serve()
    const call = caller.proxy('books').never()
    other.close()
    await assert.rejects(call, ChannelClosedError)
    await assert.rejects(caller.callBatched('add', 1, 2), ChannelClosedError)
    caller.sendBatched('note', 'late')
    caller.send('books', 'note', 'late')
    assert.deepEqual(notes, [])
  })

  test('error of a handler – is not thrown to its caller, but ends the process', () => {
    const module = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href)
    const code = `const { Channel } = await import(${module('./channel.ts')})
const { LocalPort } = await import(${module('./local-port.ts')})
const [port, other] = LocalPort.createPair()
const caller = new Channel(port).serve({})
new Channel(other).serve({ batched: { fail() { throw new Error('broken invariant') } } })
caller.sendBatched('fail')
console.log('caller goes on')`
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      encoding: 'utf8',
    })
    assert.equal(status, 1)
    assert.equal(stdout, 'caller goes on\n')
    assert.match(stderr, /broken invariant/)
  })
})
