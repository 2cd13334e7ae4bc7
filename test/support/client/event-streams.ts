/** Reads server-sent events and checks how the stream ends. */

import assert from 'node:assert/strict'

/**
 * Yields events one by one. A stream of OpenAI's format is complete if it ends with `[DONE]`, and is cut otherwise; one
 * of Anthropic's format is never cut.
 */
export async function* readEvents(response: Response): AsyncGenerator<string> {
  assert.ok(response.body)
  let [rest, last] = ['', '']
  let isCut = false
  try {
    for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + part).split('\n\n')
      rest = blocks.pop() ?? ''
      last = blocks.findLast((block) => !block.startsWith(':')) ?? last
      yield* blocks
    }
  } catch (error) {
    // What `fetch` throws if a body ends early; not what the reader of the events throws.
    if (!(error instanceof TypeError && error.message === 'terminated')) throw error
    isCut = true
  }
  assert.equal(rest, '', 'the stream ends inside an event')
  const mustBeCut = last.startsWith('data: ') && last !== 'data: [DONE]'
  assert.equal(isCut, mustBeCut, `cut: ${isCut}, after ${last}`)
}
