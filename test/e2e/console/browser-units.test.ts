// @backend both (cluster in long runs)
// @suite all – runs a browser
// @drives a browser
/** What models can do beside chat, and what requests use beside text tokens, in the console. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { Account } from '../../support/server/account.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import { openBrowser, browserSkipReason, sharedBrowserServer } from '../../support/console/browser.ts'
import { signUpCustomer, validPassword } from '../../support/console/console-session.ts'
import { openAsOperator, signIn } from '../../support/console/console-steps.ts'
import { checkPage, checkWidths, inTwoBrowsers } from '../../support/console/page-checks.ts'
import { respondWithEmbeddings, respondWithJson } from '../../support/upstream/scripted-responses.ts'

const skip = { skip: browserSkipReason }
const testServer = await sharedBrowserServer()
const email = 'units@company.example'
const ids = { chat: '', tools: '' }

const chat = {
  id: 'c-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: {
    prompt_tokens: 2000,
    completion_tokens: 600,
    total_tokens: 2600,
    prompt_tokens_details: { image_tokens: 500 },
    completion_tokens_details: { image_tokens: 300 },
  },
}
const text = { type: 'output_text', text: 'Hi', annotations: [] }
const searched = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'm',
  error: null,
  incomplete_details: null,
  output: [
    { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } },
    { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content: [text] },
  ],
  usage: { input_tokens: 20, output_tokens: 6, total_tokens: 26 },
}

before(async () => {
  if (browserSkipReason !== false) return
  const server = testServer()
  const upstream = await server.upstream(
    (exchange) =>
      respondWithJson(200, exchange.request.path.endsWith('/responses') ? searched : chat)(exchange),
    { speaks: ['responses'] },
  )
  const embeddings = await server.upstream(respondWithEmbeddings(2))
  await server.model('embedder', { upstreams: [embeddings], operations: ['embeddings'] })
  await server.admin('POST', '/models', {
    id: 'omni',
    context_tokens: 131_072,
    prices: {
      input: '0.002',
      output: '0.008',
      input_image: '0.003',
      output_image: '0.03',
      per_tool_call: { web_search: '0.07' },
      service_tiers: { flex: '0.5' },
    },
    routes: [{ upstream: upstream.id, model: 'm' }],
  })
  await signUpCustomer(server, email)
  const found = await server.admin<{ data: { id: string }[] }>('GET', `/accounts?email=${email}`)
  const customer = new Account(server, found.data[0]?.id ?? '')
  await customer.credit('100')
  await customer.newKey({})
  const image_url = { url: 'data:image/png;base64,iVBORw0KGgo=' }
  const messages = [{ role: 'user', content: [{ type: 'image_url', image_url }] }]
  const pictured = await customer.post({ model: 'omni', messages, max_tokens: 1000 })
  ids.chat = (await waitForRecord(customer, pictured)).request_id
  const search = { input: 'Hi', tools: [{ type: 'web_search' }], tool_choice: 'required' }
  const tools = await customer.post({ model: 'omni', ...search }, { path: '/v1/responses' })
  ids.tools = (await waitForRecord(customer, tools)).request_id
  await customer.post({ model: 'embedder', input: ['a', 'b'] }, { path: '/v1/embeddings' })
  await server.assertNoOpenHolds()
})

describe('Units in a browser', () => {
  test('Operator – sees operations, units and their prices', skip, async (t) => {
    const browser = await openAsOperator(t, testServer())
    const { page, open } = browser
    const rows = page.getByRole('table').getByRole('row')
    await open('/operator/requests')
    await rows.filter({ hasText: 'embedder' }).getByText('Embeddings', { exact: true }).waitFor()
    await rows.filter({ hasText: 'Responses' }).getByText('web_search × 1').waitFor()
    await rows.filter({ hasText: 'Image input 500' }).getByText('Image output 300').waitFor()
    await open(`/operator/requests/${ids.chat}`)
    await page.getByText('Image input 500, Image output 300').waitFor()
    await rows.filter({ hasText: 'Image output tokens' }).getByText('¥0.03', { exact: true }).waitFor()
    await open('/operator/models/omni')
    const version = rows.filter({ hasText: 'Current' })
    for (const price of ['Image output ¥0.03', 'web_search ¥0.07', 'flex × 0.5'])
      await version.getByText(price).waitFor()
    const paths = ['/operator/requests', `/operator/requests/${ids.tools}`, '/operator/models/omni']
    const problems: string[] = []
    for (const path of paths) problems.push(...(await checkPage(browser, path)))
    assert.deepEqual(problems, [])
    assert.deepEqual(await inTwoBrowsers(t, browser, paths, checkWidths), [])
  })

  test('Customer – sees them, and can try only models that chat', skip, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    await signIn(browser, email, validPassword)
    const { page, open } = browser
    const rows = page.getByRole('table').getByRole('row')
    await open('/models')
    const embedder = rows.filter({ hasText: 'embedder' })
    await embedder.getByText('Embeddings', { exact: true }).waitFor()
    await rows.filter({ hasText: 'omni' }).getByRole('link', { name: 'Try it' }).waitFor()
    assert.equal(await embedder.getByRole('link', { name: 'Try it' }).count(), 0)
    await open('/guide')
    await page.locator('pre').first().getByText('omni').waitFor()
    await open('/usage')
    await page
      .getByRole('table', { name: 'By model' })
      .getByRole('row', { name: /embedder/ })
      .getByText('Embeddings')
      .waitFor()
    await rows.filter({ hasText: 'Responses' }).getByText('web_search × 1').waitFor()
    const problems: string[] = []
    const paths = ['/usage', `/usage/${ids.tools}`, '/models']
    for (const path of paths) problems.push(...(await checkPage(browser, path)))
    assert.deepEqual(problems, [])
    assert.deepEqual(await inTwoBrowsers(t, browser, paths, checkWidths), [])
  })
})
