// @backend sqlite – the console is the same on both
// @suite all – runs a browser
/** Forms keep what they do not show: each is opened and saved unchanged, and the object stays the same. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  browserSkipReason,
  openBrowser,
  setUpOperator,
  sharedBrowserServer,
  type BrowserSession,
} from '../../support/console/browser.ts'
import { findDialog } from '../../support/console/console-steps.ts'

const server = await sharedBrowserServer()

type Resource = Readonly<Record<string, unknown>>

function testServer() {
  assert.ok(server)
  return server
}

interface SavedForm {
  /** The page whose URL opens the form. */
  readonly page: string
  /** The object that the form changes, in the admin API. */
  readonly path: string
  /** Selects the object from a list. */
  readonly name?: string
}

async function read({ path, name }: SavedForm): Promise<Resource> {
  const response = await testServer().admin<Resource & { data?: Resource[] }>('GET', path)
  const found = name === undefined ? response : response.data?.find((each) => each['name'] === name)
  assert.ok(found)
  const { updated_at: _, ...rest } = found
  return rest
}

async function saveUnchanged({ page, navigate }: BrowserSession, form: SavedForm): Promise<void> {
  const before = await read(form)
  await navigate(form.page)
  const [response] = await Promise.all([
    page.waitForResponse((each) => each.request().method() === 'PATCH'),
    findDialog(page).getByRole('button', { name: 'Save', exact: true }).click(),
  ])
  assert.equal(response.status(), 200)
  assert.deepEqual(await read(form), before, form.page)
}

async function createAll(): Promise<SavedForm[]> {
  const relay = testServer()
  const upstream = await relay.upstreamAt('http://127.0.0.1:9000/v1', {
    name: 'first',
    priority: 3,
    weight: 7,
    prices: { input: '0.001', output: '0.002', cached_input: '0.0005' },
  })
  const second = await relay.upstreamAt('http://127.0.0.1:9001/v1', { name: 'second' })
  await relay.admin('POST', '/models', {
    id: 'backup',
    context_tokens: 4096,
    prices: { input: '0.001', output: '0.002' },
    routes: [],
  })
  await relay.admin('POST', '/models', {
    id: 'split',
    context_tokens: 8192,
    max_output_tokens: 1024,
    owned_by: 'somebody',
    listed: false,
    prices: { input: '0.001', output: '0.002', cached_input: '0.0005' },
    routes: [
      { upstream: upstream.id, model: 'split-a', priority: 1, weight: 9, expose_model: true },
      { upstream: second.id, model: 'split-b', weight: 1 },
    ],
    prefer: 'fastest',
    affinity: true,
    fallbacks: ['backup'],
    limits: { rpm: 60, tpm: 1000 },
  })
  await relay.admin('POST', '/tiers', { name: 'gold', rpm: 100, tpm: 20_000, concurrency: 5, rpd: 9 })
  const account = await relay.account({ balance: '1' })
  await relay.admin('PATCH', `/accounts/${account.id}`, {
    name: 'Ann',
    price_factor: '0.9',
    limits: { rpm: 30 },
    caps: { daily: '5', monthly: '50' },
  })
  return [
    { page: `/operator/upstreams?edit=${upstream.id}`, path: `/upstreams/${upstream.id}` },
    { page: '/operator/models/split?edit=model', path: '/models/split' },
    { page: '/operator/tiers?edit=gold', path: '/tiers', name: 'gold' },
    { page: `/operator/accounts/${account.id}?edit=limits`, path: `/accounts/${account.id}` },
  ]
}

describe('Forms in a browser', () => {
  test('Forms – saved unchanged, leave every field as it was', { skip: browserSkipReason }, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    await setUpOperator(browser, testServer())
    for (const form of await createAll()) await saveUnchanged(browser, form)
  })
})
