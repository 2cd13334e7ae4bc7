/**
 * Callers of Anthropic's format in front of upstreams that do not speak it: what they ask and what they are answered is
 * translated, and nothing else is different.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { ownRecordings, payloadsIn, wholeIn } from '../src/providers/contract.fixture.ts'
import { providerOf } from '../src/providers/registry.ts'
import { eventsOf, recordOf } from './support/client/responses.ts'
import { shareHouse } from './support/server/test-server.ts'
import { ask, messageIn, send, toldIn } from './support/upstream/anthropic-messages.ts'
import { mute, pausingAfter } from './support/upstream/fault-injection.ts'
import type { ScriptedUpstream } from './support/upstream/scripted-upstream.ts'
import { endless, events, failing, json, saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse({ env: { STREAM_KEEP_ALIVE: '100ms' } })
const usage = { input: 20, output: 6, cached: 8 }
const toolCalls = [
  { id: 'call_paris', name: 'weather', arguments: '{"city":"Paris","days":3}' },
  { id: 'call_oslo', name: 'weather', arguments: '{"city":"Oslo","days":5}' },
]
const prices = { input: '0.002', output: '0.008', cached_input: '0.0002' }
const upstream = await house.upstream(saying('Hello, world!', usage))
await house.model('m', { upstreams: [upstream], prices })
const alice = await house.account({ balance: '¥10' })
const cost = '0.0000736'
const bill = {
  input_tokens: 12,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 8,
  output_tokens: 6,
}

test('a whole answer and a stream say the same message, at the price of the provider’s count', async () => {
  const whole = await send(alice, ask('m'))
  assert.equal(whole.headers.get('x-sluice-cost'), cost)
  const message = (await whole.json()) as Record<string, unknown>
  assert.partialDeepStrictEqual(message, {
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'Hello, world!' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: bill,
  })
  const reply = await send(alice, ask('m', { stream: true }))
  assert.deepEqual(messageIn(toldIn(await reply.text())), message)
  for (const each of [whole, reply]) {
    const record = await recordOf(alice, each)
    assert.deepEqual([record.cost, record.outcome, record.usage_source], [cost, 'ok', 'provider'])
  }
})

test('everything of a request that the common format has words for arrives there', async () => {
  const image = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }
  const reply = await send(
    alice,
    ask('m', {
      max_tokens: 99,
      system: [{ type: 'text', text: 'Be exact.', cache_control: { type: 'ephemeral' } }],
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      stop_sequences: ['END'],
      metadata: { user_id: 'u'.repeat(100) },
      thinking: { type: 'enabled', budget_tokens: 8000 },
      tools: [{ name: 'weather', description: 'Weather.', input_schema: { type: 'object', properties: {} } }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: image },
            { type: 'text', text: 'Where?' },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Signed by Anthropic.', signature: 'c2lnbmVk' },
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Bern' } },
            { type: 'tool_use', id: 'toolu_2', name: 'weather', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              content: [
                { type: 'text', text: 'Sunny' },
                { type: 'image', source: image },
              ],
            },
            { type: 'tool_result', tool_use_id: 'toolu_2', content: 'No city', is_error: true },
            { type: 'text', text: 'Go on.', cache_control: { type: 'ephemeral' } },
          ],
        },
      ],
    }),
  )
  assert.equal(reply.status, 200)
  const part = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
  const call = (id: string, input: string): object => ({
    id,
    type: 'function',
    function: { name: 'weather', arguments: input },
  })
  const { user, ...sent } = upstream.requests.at(-1)?.json ?? {}
  assert.match(String(user), /^[0-9a-f]{64}$/)
  assert.deepEqual(sent, {
    model: 'm',
    max_tokens: 99,
    temperature: 0.5,
    top_p: 0.9,
    stop: ['END'],
    reasoning_effort: 'medium',
    tools: [
      {
        type: 'function',
        function: {
          name: 'weather',
          description: 'Weather.',
          parameters: { type: 'object', properties: {} },
        },
      },
    ],
    tool_choice: 'required',
    parallel_tool_calls: false,
    messages: [
      { role: 'system', content: 'Be exact.' },
      { role: 'user', content: [part, { type: 'text', text: 'Where?' }] },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [call('toolu_1', '{"city":"Bern"}'), call('toolu_2', '{}')],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'Sunny' },
      { role: 'tool', tool_call_id: 'toolu_2', content: 'Error: No city' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What the tool answered to call toolu_1:' },
          part,
          { type: 'text', text: 'Go on.' },
        ],
      },
    ],
  })
})

test('parallel tool calls arrive as blocks, whole and streamed', async () => {
  upstream.next(saying('', usage, { toolCalls }), saying('', usage, { toolCalls }))
  const whole = (await (await send(alice, ask('m'))).json()) as { content: object[]; stop_reason: string }
  const streamed = messageIn(toldIn(await (await send(alice, ask('m', { stream: true }))).text()))
  const blocks = toolCalls.map(({ id, name, arguments: input }) => {
    return { type: 'tool_use', id, name, input: JSON.parse(input) as object }
  })
  assert.deepEqual([whole.content, whole.stop_reason], [blocks, 'tool_use'])
  assert.deepEqual([streamed.content, streamed['stop_reason']], [blocks, 'tool_use'])
})

test('thinking goes back to the provider that made it, and to no other', async () => {
  const maker = await house.upstream(saying('Hi.', usage, { reasoning: 'Let me see.' }), {
    provider: 'deepseek',
  })
  const claude = await house.upstream(json(200, wholeIn(ownRecordings(provider('anthropic')), 'text')), {
    provider: 'anthropic',
  })
  await house.model('maker', { upstreams: [maker], prices })
  await house.model('claude', { upstreams: [claude], prices })
  const told = messageIn(toldIn(await (await send(alice, ask('maker', { stream: true }))).text()))
  assert.deepEqual(
    told.content.map(({ type }) => type),
    ['thinking', 'text'],
  )
  assert.equal(told.content[0]?.['thinking'], 'Let me see.')
  const hello = { role: 'user', content: 'Say hello.' }
  const messages = [hello, { role: 'assistant', content: told.content }, hello]
  for (const model of ['maker', 'm', 'claude'])
    assert.equal((await send(alice, ask(model, { messages }))).status, 200)
  assert.deepEqual(sentTo(maker)[1], { role: 'assistant', content: 'Hi.', reasoning_content: 'Let me see.' })
  assert.deepEqual(sentTo(upstream)[1], {
    role: 'assistant',
    content: 'Hi.',
  })
  assert.deepEqual(sentTo(claude), [hello, { role: 'assistant', content: [told.content[1]] }, hello])
})

function sentTo({ requests }: ScriptedUpstream): unknown[] {
  const messages = requests.at(-1)?.json['messages']
  return Array.isArray(messages) ? messages : []
}

function provider(name: string): NonNullable<ReturnType<typeof providerOf>> {
  const found = providerOf(name)
  assert.ok(found)
  return found
}

test('an answer of a third format arrives too, its thinking signed for the way back', async () => {
  const folder = ownRecordings(provider('gemini'))
  const gemini = await house.upstream(events(payloadsIn(folder, 'tools')), { provider: 'gemini' })
  await house.model('gemini', { upstreams: [gemini], prices })
  const told = messageIn(toldIn(await (await send(alice, ask('gemini', { stream: true }))).text()))
  assert.deepEqual(
    told.content.map(({ type }) => type),
    ['thinking', 'text', 'tool_use', 'redacted_thinking', 'tool_use', 'tool_use'],
  )
  const hello = { role: 'user', content: 'Say hello.' }
  const answers = told.content.flatMap(({ type, id }) =>
    type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id, content: 'Noon.' }] : [],
  )
  const messages = [hello, { role: 'assistant', content: told.content }, { role: 'user', content: answers }]
  await (await send(alice, ask('gemini', { stream: true, messages }))).text()
  assert.match(gemini.requests.at(-1)?.text ?? '', /"thoughtSignature":"c2ln/)
})

test('what only Anthropic knows is refused by its name, unless another upstream can take it', async () => {
  const tools = [{ type: 'web_search_20250305', name: 'web_search' }]
  const refused = await send(alice, ask('m', { tools }))
  assert.equal(refused.status, 400)
  assert.partialDeepStrictEqual(await refused.json(), {
    type: 'error',
    error: { type: 'invalid_request_error', param: 'tools[0].type' },
  })
  const claude = await house.upstream(json(200, wholeIn(ownRecordings(provider('anthropic')), 'text')), {
    provider: 'anthropic',
  })
  await house.model('m-or-claude', { upstreams: [upstream, claude], prices })
  assert.equal((await send(alice, ask('m-or-claude', { tools }))).status, 200)
})

test('an upstream that refuses stream_options is asked again without, and names its maximum in its own way', async () => {
  const refusing = await house.upstream(saying('Hi.', 'absent'), { provider: 'openai' })
  refusing.next(
    failing(400, { error: { message: 'Unknown argument: stream_options', param: 'stream_options' } }),
  )
  await house.model('refusing', { upstreams: [refusing], prices })
  const reply = await send(alice, ask('refusing', { stream: true }))
  assert.equal(messageIn(toldIn(await reply.text())).content[0]?.['text'], 'Hi.')
  assert.deepEqual(
    refusing.requests.map(
      ({ json: { stream_options: options, max_tokens: old, max_completion_tokens: most } }) => [
        options,
        old,
        most,
      ],
    ),
    [
      [{ include_usage: true }, undefined, 256],
      [undefined, undefined, 256],
    ],
  )
  assert.equal((await recordOf(alice, reply)).usage_source, 'estimate')
})

test('while an upstream is silent pings come; a caller who leaves ends it within a second', async () => {
  const patient = await house.upstream(mute)
  await house.model('patient', { upstreams: [patient], prices })
  const [first, leaving] = [Promise.withResolvers<void>(), new AbortController()]
  upstream.next(pausingAfter(3, first.promise, saying('one two', usage)))
  const text: string[] = []
  for await (const event of eventsOf(await send(alice, ask('m', { stream: true })))) {
    if (event === 'event: ping\ndata: {"type":"ping"}') first.resolve()
    text.push(`${event}\n\n`)
  }
  assert.equal(messageIn(toldIn(text.join(''))).content[0]?.['text'], 'one two')

  const silent = await send(alice, ask('patient', { stream: true }), { signal: leaving.signal })
  for await (const event of eventsOf(silent)) {
    assert.equal(event, 'event: ping\ndata: {"type":"ping"}')
    break
  }
  const leftMs = performance.now()
  leaving.abort()
  assert.ok(((await patient.sawClose()).abortedAt ?? Infinity) - leftMs < 1000)
})

test('a caller who leaves a stream pays for what had come', async () => {
  const talking = await house.upstream(endless(' more', 2))
  await house.model('talking', { upstreams: [talking], prices })
  const leaving = new AbortController()
  const reply = await send(alice, ask('talking', { stream: true, max_tokens: 4096 }), {
    signal: leaving.signal,
  })
  let read = 0
  for await (const _event of eventsOf(reply)) if (++read === 30) break
  leaving.abort()
  await talking.sawClose()
  const record = await recordOf(alice, reply)
  assert.deepEqual([record.outcome, record.usage_source], ['aborted', 'estimate'])
  assert.ok(record.completion_tokens >= 25 && Number(record.cost) > 0)
})
