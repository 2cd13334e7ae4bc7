/** The forms of upstreams, models, prices and tiers, each with an object that has a value in every field. */
import { chooseAction } from './console-steps.ts'
import { createId, fill, type EditForm, type FormContext } from './edit-form.ts'

/** One above the other, so that no two are equal. */
const longRates = {
  input: '0.000000031',
  output: '0.000000032',
  cached_input: '0.000000033',
  cache_write: '0.000000034',
  cache_write_1h: '0.000000035',
  reasoning: '0.000000036',
  input_image: '0.000000037',
  input_audio: '0.000000038',
  cached_input_image: '0.000000039',
  cached_input_audio: '0.000000041',
  output_image: '0.000000042',
  output_audio: '0.000000043',
}
const doubled = (rates: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(rates).map(([name, rate]) => [
      name,
      `0.0000000${Number(rate.slice(-2)) * 2}`.replace(/0$/, ''),
    ]),
  )

const prices = {
  input: '0.000000001',
  output: '0.123456789',
  cached_input: '0.000000003',
  cache_write: '0.100000007',
  cache_write_1h: '0.200000009',
  reasoning: '0.987654321',
  input_image: '0.000000011',
  input_audio: '0.000000013',
  cached_input_image: '0.000000015',
  cached_input_audio: '0.000000017',
  output_image: '0.000000019',
  output_audio: '0.000000021',
  per_request: '1.000000001',
  per_search: '2.999999999',
  per_tool_call: {
    file_search: '0.000000023',
    image_generation: [
      { quality: 'high', size: '1536x1024', amount: '0.000000051' },
      { quality: 'low', amount: '0.000000052' },
      { size: '1024x1024', amount: '0.000000053' },
      { amount: '0.000000054' },
    ],
  },
  above: [{ input_tokens: 200_000, ...longRates }],
  service_tiers: { flex: '0.5', priority: '2.5' },
}
const costs = { ...prices, currency: 'USD', rate: '7.123456' }
const doubledPrices = {
  input: '0.000000002',
  output: '0.246913578',
  cached_input: '0.000000006',
  cache_write: '0.200000014',
  cache_write_1h: '0.400000018',
  reasoning: '1.975308642',
  input_image: '0.000000022',
  input_audio: '0.000000026',
  cached_input_image: '0.00000003',
  cached_input_audio: '0.000000034',
  output_image: '0.000000038',
  output_audio: '0.000000042',
  per_request: '2.000000002',
  per_search: '5.999999998',
  per_tool_call: {
    file_search: '0.000000046',
    image_generation: [
      { quality: 'high', size: '1536x1024', amount: '0.000000102' },
      { quality: 'low', amount: '0.000000104' },
      { size: '1024x1024', amount: '0.000000106' },
      { amount: '0.000000108' },
    ],
  },
  above: [{ input_tokens: 200_000, ...doubled(longRates) }],
  service_tiers: { flex: '0.5', priority: '2.5' },
}

async function createUpstream({ server }: FormContext): Promise<string> {
  const { id } = await server.upstreamAt('http://127.0.0.1:9000/v1', {
    credential: 'sk-upstream-0123456789abcdef',
    proxy: 'socks5h://user:password@127.0.0.1:1080',
    priority: 3,
    weight: 7,
    prices: costs,
    timeouts: { connect_ms: 1234, first_token_ms: 23_457, idle_ms: 34_567, answer_ms: 456_789 },
    on_abort: 'drain',
    collect_stream: true,
    speaks: ['responses'],
    headers: { 'x-gateway-key': 'gw-0123456789abcdef' },
    body: { user: 'relay', provider: { sort: 'price' } },
    health_check_ms: 123_457,
    max_tokens_field: 'max_completion_tokens',
    allowed_fields: ['service_tier', 'code_execution'],
  })
  return id
}

async function createModel(context: FormContext, id: string): Promise<string> {
  const { server } = context
  const [upstream, second] = [await createUpstream(context), await createUpstream(context)]
  await server.model(`${id}-fallback`, { upstreams: [] })
  await server.admin('POST', '/models', {
    id,
    context_tokens: 8191,
    max_output_tokens: 1023,
    operations: ['chat', 'completions'],
    hidden_reasoning: true,
    prices,
    routes: [
      { upstream, model: 'split-a', priority: 2, weight: 9, expose_model: true, cost: costs },
      {
        upstream: second,
        model: 'split-b',
        priority: 3,
        weight: 1,
        expose_model: true,
        cost: { free: true },
      },
    ],
    prefer: 'fastest',
    affinity: true,
    fallbacks: [`${id}-fallback`],
    limits: { rpm: 61, tpm: 1009, rpd: 7001, concurrency: 3 },
    timeouts: { connect_ms: 1233, first_token_ms: 23_456, idle_ms: 34_566, answer_ms: 456_788 },
    owned_by: 'somebody',
    listed: false,
  })
  return id
}

const upstreamForm = async (context: FormContext): Promise<EditForm> => {
  const id = await createUpstream(context)
  return {
    page: `/operator/upstreams?edit=${id}`,
    path: `/upstreams/${id}`,
    change: async (page) => {
      await page.getByText('Your cost, input / output').click()
      await fill('output', '0.111111111')(page)
    },
    changed: { prices: { output: '0.111111111' } },
  }
}

const modelForm = async (context: FormContext): Promise<EditForm> => {
  const id = await createModel(context, 'split')
  return {
    page: `/operator/models/${id}?edit=model`,
    path: `/models/${id}`,
    change: fill('max_output_tokens', '1021'),
    changed: { max_output_tokens: 1021 },
  }
}

const priceForm = async (context: FormContext): Promise<EditForm> => {
  const id = await createModel(context, 'priced')
  return {
    page: `/operator/models/${id}?edit=price`,
    submit: 'Change price',
    path: `/models/${id}`,
    change: fill('output', '0.123456788'),
    changed: { prices: { output: '0.123456788' } },
  }
}

const bulkPriceForm = async (context: FormContext): Promise<EditForm> => {
  const id = await createModel(context, 'one-of-many')
  return {
    page: '/operator/models',
    open: async (page) => {
      await page
        .getByRole('row', { name: `${id} somebody` })
        .getByRole('checkbox')
        .check()
      await page.getByRole('button', { name: 'Change 1 price' }).click()
      await fill('factor', '1')(page)
    },
    submit: 'Change 1 model',
    path: `/models/${id}`,
    change: fill('factor', '2'),
    changed: { prices: doubledPrices },
  }
}

const credentialForm = async (context: FormContext): Promise<EditForm> => {
  const upstream = await createUpstream(context)
  const path = `/upstreams/${upstream}/credentials`
  const id = await createId(context, path, {
    credential: 'sk-second-0123456789abcdef',
    label: 'second one',
    weight: 7,
  })
  return {
    page: `/operator/upstreams/${upstream}`,
    open: (page) => chooseAction(page, page.getByRole('row', { name: 'second one' }), 'Edit'),
    path,
    isObject: (resource) => resource['id'] === id,
    change: fill('weight', '8'),
    changed: { weight: 8 },
  }
}

const tierForm = async ({ server }: FormContext): Promise<EditForm> => {
  await server.admin('POST', '/tiers', {
    name: 'gold',
    rpm: 101,
    tpm: 20_011,
    rpd: 9,
    concurrency: 5,
    price_factor: '1.234567',
    after_payment: 'enterprise',
  })
  return {
    page: '/operator/tiers?edit=gold',
    path: '/tiers',
    isObject: ({ name }) => name === 'gold',
    change: fill('tpm', '20021'),
    changed: { tpm: 20_021 },
  }
}

export const catalogEditForms = {
  UpstreamForm: upstreamForm,
  CredentialForm: credentialForm,
  ModelForm: modelForm,
  PriceForm: priceForm,
  BulkPriceForm: bulkPriceForm,
  TierForm: tierForm,
}
