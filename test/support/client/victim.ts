/** A caller next to an attack, whose response must be its own. */
import assert from 'node:assert/strict'

import { chatRequest, type Account } from '../server/account.ts'

/** The text of responses to attackers. */
export const attackText = 'attacker'

/**
 * Sends a request for which the upstream must respond with its text, which is different for each `nth`; every second one
 * is a stream. `port`: where it is sent.
 */
export async function callAsVictim(victim: Account, model: string, nth: number, port: number): Promise<void> {
  const text = `victim-${nth}`
  const stream = nth % 2 === 0
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${victim.key.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(chatRequest(model, { stream, messages: [{ role: 'user', content: text }] })),
  })
  const body = await response.text()
  assert.equal(response.status, 200, body)
  assert.deepEqual(body.match(/victim-\d+|attacker/g), [text], body)
  assert.equal(response.headers.get('content-type')?.startsWith('text/event-stream'), stream, body)
  if (stream) assert.match(body, /\[DONE\]\n\n$/)
}
