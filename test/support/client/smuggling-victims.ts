/**
 * Attackers and victims behind one proxy that shares its connections to the relay. If attack and proxy disagreed with
 * the relay about where a request ends, a victim would receive a response to somebody else's request.
 */
import { once } from 'node:events'
import { connect } from 'node:net'

import { generateConnection } from '../../../src/http/server/request-bytes.fixture.ts'
import type { SeedRange } from '../runner/seeds.ts'
import { attackText, callAsVictim } from './victim.ts'
import { chatRequest } from '../server/account.ts'
import type { TestServer } from '../server/test-server.ts'
import type { Exchange } from '../upstream/exchange.ts'
import { respondWith } from '../upstream/scripted-responses.ts'
import { scriptedDelay } from '../wait.ts'

const attacksAtOnce = 10
const victimsBeside = 3
/** After the attacks, so many at once that every connection of the proxy is used again. */
const victimsAfter = attacksAtOnce + victimsBeside
/** How long an attacker waits at most for a first byte: many attacks are incomplete requests. */
const attackMs = 100

/** Responds with the text of the last message. */
function echo(exchange: Exchange): Promise<unknown> {
  const messages = exchange.request.json['messages'] as readonly { readonly content: string }[]
  return Promise.resolve(respondWith(messages.at(-1)?.content ?? '')(exchange))
}

/** Sends the connections of these seeds to `port`, and requests of victims beside and after them. */
export async function attackBesideVictims(
  server: TestServer,
  port: number,
  seeds: SeedRange,
): Promise<{ attacks: number; victims: number; relayedAttacks: number }> {
  const upstream = await server.upstream(echo)
  await server.model('echo', { upstreams: [upstream] })
  const attacker = await server.account({ balance: '¥1000' })
  const victim = await server.account({ balance: '¥1000' })
  const attack = chatRequest('echo', { messages: [{ role: 'user', content: attackText }] })
  const options = {
    authorization: `Bearer ${attacker.key.secret}`,
    bodies: [JSON.stringify(attack), JSON.stringify({ ...attack, stream: true }), ''],
  }
  let victims = 0
  const callAsVictims = (count: number): Promise<unknown> =>
    Promise.all(Array.from({ length: count }, () => callAsVictim(victim, 'echo', victims++, port)))
  const end = seeds.from + seeds.count
  for (let from = seeds.from; from < end; from += attacksAtOnce) {
    const batch = Array.from({ length: Math.min(attacksAtOnce, end - from) }, (_, index) => from + index)
    const attacks = batch.map((seed) => sendAttack(port, generateConnection(seed, options)))
    try {
      await Promise.all([...attacks, callAsVictims(victimsBeside)])
      await callAsVictims(victimsAfter)
    } catch (cause) {
      throw new Error(`after the attacks with the seeds ${batch.join(', ')}`, { cause })
    }
  }
  const relayedAttacks = upstream.requests.filter(({ text }) => text.includes(attackText)).length
  return { attacks: seeds.count, victims, relayedAttacks }
}

async function sendAttack(port: number, pieces: readonly Buffer[]): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  for (const piece of pieces) {
    if (socket.destroyed) break
    await new Promise<void>((resolve) => socket.write(piece, () => resolve()))
  }
  await Promise.race([once(socket, 'data').catch(() => undefined), closed, scriptedDelay(attackMs)])
  socket.destroy()
}
