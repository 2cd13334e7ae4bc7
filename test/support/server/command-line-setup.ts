/** What the tests of the command line do with it, whether a relay is running or not. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'

import type { CommandLine } from './command-line.ts'
import { startScriptedUpstream, type ScriptedUpstream } from '../upstream/scripted-upstream.ts'
import { respondWith } from '../upstream/scripted-responses.ts'

export interface Named {
  readonly id: string
}
export interface Setup {
  readonly upstream: string
  readonly model: string
  readonly email: string
  readonly key: string
  readonly secret: string
  /** The output of `doctor` while the upstream was disabled. */
  readonly diagnosis: string
}

/** The status of one chat completion. */
export async function chat(url: string, { secret, model }: Pick<Setup, 'secret' | 'model'>): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  await response.arrayBuffer()
  return response.status
}

/** Creates and changes an upstream, a model, an account and a key, with the relay running or not. */
export async function administer(
  sluice: CommandLine,
  upstream: ScriptedUpstream,
  tag: string,
): Promise<Setup> {
  const name = `up-${tag}`
  const address = ['--provider', 'openai-compatible', '--base-url', upstream.url, '--credential-stdin']
  const added = await sluice.json<{ credential?: string }>(
    ['upstream', 'add', name, ...address],
    'sk-upstream\n',
  )
  assert.equal(added.credential, undefined)

  const model = `model-${tag}`
  const prices = ['--input', '0.002', '--output', '0.002']
  await sluice.output(['model', 'add', model, '--context', '8192', ...prices, '--route', `${name}=small`])
  assert.match(await sluice.output(['upstream', 'test', name]), new RegExp(`^${name}: `))
  assert.equal(upstream.requests.at(-1)?.json['model'], 'small')
  assert.equal(upstream.requests.at(-1)?.headers['authorization'], 'Bearer sk-upstream')
  const newPrices = ['--input', '0.002', '--output', '0.004']
  const priced = await sluice.json<{ prices: object }>(['model', 'price', model, ...newPrices])
  assert.partialDeepStrictEqual(priced.prices, { input: '0.002', output: '0.004' })
  await sluice.output(['model', 'set', model, '--no-listed'])

  await sluice.output(['upstream', 'disable', name])
  const diagnosis = await sluice.output(['doctor', '--no-calls'])
  assert.match(diagnosis, new RegExp(`warn  models .* only on disabled upstreams: ${model}`))
  await sluice.output(['upstream', 'enable', name])
  return { upstream: name, model, diagnosis, ...(await administerAccount(sluice, model, tag)) }
}

async function administerAccount(
  sluice: CommandLine,
  model: string,
  tag: string,
): Promise<Pick<Setup, 'email' | 'key' | 'secret'>> {
  const email = `${tag}@example.com`
  await sluice.output(['account', 'create', email, '--tier', 'enterprise'])
  assert.equal(await sluice.output(creditOf(email)), 'Credited 5. The balance is 5.\n')
  await sluice.output(['account', 'set', email, '--daily-cap', '3', '--rpm', '100'])
  const scope = ['--name', 'laptop', '--model', `${model},other-*`]
  const output = await sluice.output(['key', 'create', email, ...scope])
  const [, key] = /^Created key (key_\w+)\./.exec(output) ?? assert.fail(output)
  const secret = /^sk-\S+$/m.exec(output)?.[0] ?? assert.fail(output)
  return { email, key: key ?? '', secret }
}

function creditOf(email: string): string[] {
  return ['account', 'credit', email, '5', '--reason', 'welcome', '--idempotency-key', email]
}

/** Lists and shows what `administer` created, and checks that what must fail fails and a credit applies once. */
export async function inspect(
  sluice: CommandLine,
  { upstream, model, email, key, secret }: Setup,
): Promise<void> {
  assert.match(await sluice.output(['upstream', 'list']), new RegExp(`^ups_\\w+  ${upstream} .* yes`, 'm'))
  assert.match(await sluice.output(['model', 'list']), new RegExp(`${model} .* no .* ${upstream}=small`))
  assert.equal(await sluice.output(creditOf(email)), 'Credited 5. The balance is 5.\n')
  await sluice.expectFailure(['account', 'credit', email, '-6', '--reason', 'too much'])
  const shown = await sluice.json<Named>(['account', 'show', email])
  assert.partialDeepStrictEqual(shown, { available: '3', caps: { daily: '3', monthly: null } })
  assert.match(await sluice.output(['account', 'list']), new RegExp(`${shown.id}  ${email} .* 5$`, 'm'))
  const keys = await sluice.json<{ data: Named[] }>(['key', 'list', shown.id])
  assert.equal(keys.data[0]?.id, key)
  assert.ok(!JSON.stringify(keys).includes(secret))
  const all = await sluice.output(['key', 'list', '--all', '--find', secret.slice(0, 11)])
  assert.match(all, new RegExp(`${key}  ${email}  laptop  .* active `))
  assert.match(await sluice.expectFailure(['key', 'list', 'acc_none']), /Account not found/)
}

export async function removeAll(sluice: CommandLine, setup: Omit<Setup, 'diagnosis'>): Promise<void> {
  await sluice.output(['key', 'delete', setup.key])
  assert.deepEqual((await sluice.json<{ data: [] }>(['key', 'list', setup.email])).data, [])
  assert.match(await sluice.expectFailure(['upstream', 'remove', setup.upstream]), new RegExp(setup.model))
  await sluice.output(['model', 'remove', setup.model])
  await sluice.output(['upstream', 'remove', setup.upstream])
}

export async function startUpstream(t: TestContext): Promise<ScriptedUpstream> {
  const upstream = await startScriptedUpstream(respondWith('Hi!'))
  t.after(() => upstream.close())
  return upstream
}
