// @suite all – runs the documentation's blocks of code
// @drives a client
/**
 * Runs the blocks of code tagged `run` of all pages but those of clients, which the clients' own tests run. On a page
 * that starts the relay, such as the READMEs, they use the demonstration that its first block starts; on any other, a
 * relay with a scripted upstream.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { createFolder, startDemonstration } from '../test/support/deploy/packages.ts'
import { sharedTestServer } from '../test/support/server/test-server.ts'
import { formatPlace, readSnippets, snippetPages, type Snippet } from '../test/support/snippets.ts'
import { readText, root } from '../test/support/source-files.ts'
import {
  respondWith,
  respondWithEmbeddings,
  respondWithJson,
} from '../test/support/upstream/scripted-responses.ts'
import { execute, nodeClient, pythonClient, type Generation } from './client-program.ts'

/** What the blocks of a page call. */
interface Target {
  readonly url: string
  readonly key: string
}

const clientPages = /^docs\/(zh-cn\/)?clients\//
const libraries: Readonly<Record<string, Generation>> = {
  js: nodeClient('openai-node', ['openai']),
  ts: nodeClient('openai-node', ['openai']),
  python: pythonClient('openai-python', 3),
}
const hasCurl = spawnSync('curl', ['--version']).status === 0

const startsRelay = ({ language, code }: Snippet): boolean =>
  language === 'sh' && /^npm .*\bstart$/m.test(code)

function skipReason({ language }: Snippet): string | false {
  if (language === 'sh') return hasCurl ? false : 'curl is not installed (apt-get install curl)'
  const isInstalled = existsSync(libraries[language]?.installed ?? assert.fail(`nothing runs ${language}`))
  return isInstalled ? false : 'not installed (.ci/run installs the locked versions in clients/)'
}

/** Starts the demonstration as the block says. The dependencies are installed already. */
async function startAsWritten(t: TestContext, { code }: Snippet): Promise<Target> {
  const env = { ...(process.env as Record<string, string>), DATA_DIR: createFolder() }
  const command = code.replace('npm ci && ', '')
  const { url, output } = await startDemonstration(t, ['sh', '-ec', command], { cwd: root, env })
  return { url, key: /Bearer (sk-slu-\w+)/.exec(output)?.[1] ?? assert.fail(output) }
}

/** The models of the pages, with one scripted upstream for each operation, and an account. */
async function prepareModels(): Promise<Target> {
  const usage = { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 }
  const completion = { id: 'cmpl-1', object: 'text_completion', model: 'coder', created: 1, usage }
  const choices = [{ index: 0, text: 'pass', finish_reason: 'stop', logprobs: null }]
  const [chat, completions, embeddings] = [
    await server.upstream(respondWith('Hi!', { input: 2, output: 1 })),
    await server.upstream(respondWithJson(200, { ...completion, choices })),
    await server.upstream(respondWithEmbeddings(2)),
  ]
  for (const model of ['family-a-small', 'family-a-large']) await server.model(model, { upstreams: [chat] })
  await server.model('coder', { upstreams: [completions], operations: ['completions'] })
  await server.model('embedder', { upstreams: [embeddings], operations: ['embeddings'] })
  const account = await server.account({ balance: '10' })
  return { url: server.url, key: account.key.secret }
}

/** Runs a block; fails if it does. Returns what it prints. */
function run({ language, code }: Snippet, { url, key }: Target): Promise<string> {
  // What the pages set once for the libraries, in addition to SLUICE_KEY.
  Object.assign(process.env, { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key })
  const program = code.replaceAll(/http:\/\/(?:127\.0\.0\.1|localhost):8080/g, url)
  if (language !== 'sh') return (libraries[language] ?? assert.fail(language)).runCode(program, key)
  const curl = 'curl() { command curl --fail-with-body --silent --show-error "$@"; }\n'
  return execute(['sh', '-euc', curl + program], key)
}

const server = await sharedTestServer()
const scripted = await prepareModels()

describe('Blocks of code that run', () => {
  test('Pages of clients – a test of the client runs the blocks', () => {
    const programs = globSync('clients/*/*.test.ts', { cwd: root }).map(readText)
    const programText = [...programs, readText('clients/ai-sdk/end-to-end.ts')].join('\n')
    const pages = snippetPages().filter((path) => path.startsWith('docs/clients/'))
    const running = pages.filter((path) => readSnippets(path).some(({ tag }) => tag === 'run'))
    assert.ok(running.length > 5)
    const unread = running.map((path) => basename(path, '.md')).filter((name) => !programText.includes(name))
    assert.deepEqual(unread, [])
    const languages = running.flatMap(readSnippets).map(({ language, tag }) => `${language} ${tag}`)
    // What clients/guide-samples.ts reads, and the file of Codex.
    const unknown = languages.filter((each) => each.endsWith(' run') && !/^(python|ts|sh|toml) /.test(each))
    assert.deepEqual(unknown, [])
  })

  for (const page of snippetPages().filter((path) => !clientPages.test(path))) {
    const snippets = readSnippets(page).filter(({ tag }) => tag === 'run')
    if (snippets.length === 0) continue
    const [first, ...rest] = snippets
    const isStarted = first !== undefined && startsRelay(first)
    test(`${page} – its blocks do what they show`, async (t) => {
      const target = isStarted ? await startAsWritten(t, first) : scripted
      for (const snippet of isStarted ? rest : snippets) {
        await t.test(`${formatPlace(snippet)} – succeeds`, { skip: skipReason(snippet) }, async () => {
          assert.notEqual((await run(snippet, target)).trim(), '')
        })
      }
    })
  }
})
