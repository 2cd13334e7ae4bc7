// @suite all – runs an agent
// @drives a client
/**
 * Codex, unchanged, without a terminal, with the file of its guide: its settings, commands and sessions are in a temporary
 * folder, and it may reach nothing but the relay. Against upstreams of each kind: one that speaks the Responses API, and
 * two for which requests are translated.
 */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import { getObjects, isObject, type Json } from '../../src/providers/json-fields.ts'
import { waitForNewestRecord } from '../../test/support/client/responses.ts'
import type { Account } from '../../test/support/server/account.ts'
import type { RegisteredUpstream, TestServer } from '../../test/support/server/test-server.ts'
import type { Script } from '../../test/support/upstream/exchange.ts'
import { messageItem, nativeEvents, respondWithItems } from '../../test/support/upstream/native-responses.ts'
import { startAgentTestServer, type Prompt, type Reply } from '../agent-test-server.ts'
import { usage } from '../upstream-scripts.ts'
import { waitUntil } from '../../test/support/wait.ts'

const platform = `codex-${process.platform}-${process.arch}`
const triple = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-unknown-linux-musl`
const program = fileURLToPath(
  new URL(`node_modules/@openai/${platform}/vendor/${triple}/bin/codex`, import.meta.url),
)
const skip = existsSync(program) ? false : 'not installed (.ci/run installs the locked versions in clients/)'

const timeoutMs = 60_000
const fileName = 'stock.txt'
const fileText = 'There are 42 screws on the shelf.'
const question = `How many screws are there? Read ${fileName}.`
const command = `cat ${fileName}`
const summary = 'The shelf has 42 screws.'
const isSummaryPrompt = (prompt: string): boolean => /handoff summary|checkpoint compaction/i.test(prompt)

/** Reads the file by a command, and says what it found; writes a summary if it is asked for one. */
function reply({ results, text: asked }: Prompt): Reply {
  if (isSummaryPrompt(asked)) return { text: summary }
  if (asked.includes(summary)) return { text: `I remember: ${summary}` }
  const found = results.find((result) => result.includes('42 screws'))
  return found === undefined
    ? { toolCalls: [{ name: 'exec_command', input: { cmd: command } }] }
    : { text: `I found: ${found}` }
}

function textOf({ content }: Json): string {
  if (typeof content === 'string') return content
  return Array.isArray(content)
    ? content.map((part: unknown) => (isObject(part) ? part['text'] : '')).join('')
    : ''
}

let calls = 0

/** The same, of an upstream that speaks the Responses API. */
const native: Script = (exchange) => {
  const items = getObjects(exchange.request.json, 'input')
  const last = items.findLastIndex(({ role, type }) => role === 'assistant' || type === 'reasoning')
  const results = items
    .slice(last + 1)
    .filter(({ type }) => type === 'function_call_output')
    .map(({ output }) => (typeof output === 'string' ? output : JSON.stringify(output)))
  const asked = textOf(items.findLast(({ role }) => role === 'user') ?? {})
  const { text: said, toolCalls = [] } = reply({
    tools: [],
    forced: false,
    results,
    text: asked,
    schema: undefined,
  })
  const written = toolCalls.map(({ name, input }) => {
    const id = `call_${++calls}`
    const status = 'completed'
    return {
      id: `fc_${id}`,
      type: 'function_call',
      status,
      call_id: id,
      name,
      arguments: JSON.stringify(input),
    }
  })
  const output = said === undefined ? written : [messageItem(said)]
  const tokens = { input_tokens: usage.input, output_tokens: usage.output }
  return respondWithItems(output, {
    id: `resp_${++calls}`,
    usage: { ...tokens, total_tokens: usage.input + usage.output },
  })(exchange)
}

/** The file of the guide, with this address and model. */
function guideConfig(url: string, model: string): string {
  const guide = readFileSync(new URL('../../docs/clients/codex.md', import.meta.url), 'utf8')
  const [, config = ''] = /```toml run\n(.*?)```/s.exec(guide) ?? []
  assert.match(config, /wire_api = "responses"/)
  return config.replaceAll('http://127.0.0.1:8080', url).replaceAll(/family-a-\w+/g, model)
}

class Codex {
  readonly #folder: string
  readonly #key: string

  private constructor(folder: string, key: string) {
    this.#folder = folder
    this.#key = key
  }

  /** `settings`: lines before those of the guide. */
  static async create(
    t: TestContext,
    url: string,
    { account, model, settings = '', isSocket = false }: CodexSettings,
  ): Promise<Codex> {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-codex-'))
    t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))
    await mkdir(join(folder, 'home', '.codex'), { recursive: true })
    await mkdir(join(folder, 'work'))
    await writeFile(join(folder, 'work', fileName), fileText)
    const config = guideConfig(url, model)
    const transport = isSocket ? config.replace('websockets = false', 'websockets = true') : config
    await writeFile(join(folder, 'home', '.codex', 'config.toml'), settings + transport)
    return new Codex(folder, account.key.secret)
  }

  start(...args: string[]): ChildProcess {
    // The test runs the commands of its own script only, and where no sandbox may be available.
    const options = ['--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox']
    return spawn(program, ['exec', ...options, ...args], {
      cwd: join(this.#folder, 'work'),
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: timeoutMs,
      env: {
        PATH: '/usr/local/bin:/usr/bin:/bin',
        HOME: join(this.#folder, 'home'),
        SLUICE_KEY: this.#key,
        HTTP_PROXY: 'http://127.0.0.1:9',
        HTTPS_PROXY: 'http://127.0.0.1:9',
        NO_PROXY: '127.0.0.1',
      },
    })
  }

  /** Runs it once; its output, one event per line. */
  async run(...args: string[]): Promise<string> {
    const child = this.start(...args)
    const [output] = await Promise.all([text(child.stdout as NodeJS.ReadableStream), once(child, 'close')])
    return output
  }
}

interface CodexSettings {
  readonly account: Account
  readonly model: string
  readonly settings?: string
  readonly isSocket?: boolean
}

/** A stream of the Responses API that never ends. */
const endlessNative: Script = async (exchange) => {
  const [first, second, added] = nativeEvents([messageItem('')])
  exchange.head(200, { 'content-type': 'text/event-stream' })
  for (const event of [first, second, added]) if (event) await exchange.event(event.payload, event.name)
  const type = 'response.output_text.delta'
  const place = { output_index: 0, item_id: 'msg_1', content_index: 0, logprobs: [] }
  for (let number = 3; ; number++) {
    const payload = JSON.stringify({ type, sequence_number: number, ...place, delta: ' more' })
    if (!(await exchange.event(payload, type)) || !(await exchange.pause(5))) return
  }
}

async function nativeModel(
  server: TestServer,
  name: string,
  script: Script,
): Promise<readonly [string, RegisteredUpstream]> {
  const upstream = await server.upstream(script, { provider: 'openai' })
  await server.model(name, { upstreams: [upstream] })
  return [name, upstream]
}

describe('Codex', () => {
  test('Codex – works unchanged', { skip }, async (t) => {
    const { server, upstreams, rich } = await startAgentTestServer(t, reply)
    const agents = {
      native: await nativeModel(server, 'native-agent', native),
      claude: ['claude-agent', upstreams.claude],
      other: ['other-agent', upstreams.other],
    } as const
    for (const [kind, [model, upstream]] of Object.entries(agents)) {
      for (const isSocket of [false, true]) {
        await t.test(
          `${kind}: Tool loop – runs the command and reads it, WebSocket ${isSocket}`,
          async (t) => {
            const codex = await Codex.create(t, server.url, { account: rich, model, isSocket })
            const output = await codex.run(question)
            assert.match(output, /I found: [^"]*42 screws/)
            assert.match(output, /"turn\.completed"/)
          },
        )
      }

      await t.test(`${kind}: Compaction – continues with the summary`, async (t) => {
        const settings = 'model_auto_compact_token_limit = 1000\n'
        const codex = await Codex.create(t, server.url, { account: rich, model, settings })
        assert.match(await codex.run(question), /I remember: The shelf/)
        const [asked, answered] = upstream.requests.slice(-2)
        assert.doesNotMatch(asked?.text ?? '', /The shelf has/)
        assert.match(answered?.text ?? '', /The shelf has/)
      })
    }

    const endless = {
      native: await nativeModel(server, 'native-endless', endlessNative),
      claude: ['claude-endless', upstreams.claude],
      other: ['other-endless', upstreams.other],
    } as const
    for (const [kind, [model, upstream]] of Object.entries(endless)) {
      await t.test(`${kind}: Abort – ends the upstream’s response, and is charged`, async (t) => {
        const account = await server.account({ balance: '10' })
        const child = (await Codex.create(t, server.url, { account, model })).start(question)
        await waitUntil(async () => {
          const sent = upstream.requests.at(-1)
          return sent?.json['stream'] === true && sent.bytesSent > 4000
        }, 'content')
        child.kill('SIGTERM')
        await once(child, 'close')
        const { outcome, cost } = await waitForNewestRecord(account)
        assert.equal(outcome, 'aborted')
        assert.ok(Number(cost) > 0)
      })

      await t.test(`${kind}: Balance that ends – is reported, and not tried again`, async (t) => {
        const account = await server.account({ balance: '0.1' })
        await server.admin('PATCH', `/models/${model}`, { prices: { input: '0', output: '1' } })
        const codex = await Codex.create(t, server.url, { account, model })
        assert.match(await codex.run(question), /Quota exceeded/)
        const rows = await account.requests()
        assert.deepEqual(
          rows.map(({ outcome }) => outcome),
          ['ended'],
        )
      })
    }
    await server.assertNoOpenHolds()
  })
})
