/**
 * The forms of the console that change an existing object, each with an object that has unusual values in every field
 * that the admin API knows: amounts with nine decimals, times with seconds, names that do not exist.
 */
import { createPng } from '../../../src/lib/image-files.fixture.ts'
import { catalogEditForms } from './catalog-edit-forms.ts'
import { createId, fill, type EditForm, type FormContext } from './edit-form.ts'

async function createAccount({ server }: FormContext): Promise<string> {
  const { id } = await server.account({ balance: '1' })
  await server.admin('PATCH', `/accounts/${id}`, {
    name: 'Ann Example',
    caps: { daily: '5.000000001', monthly: '50.123456789' },
    low_balance: '0.000000007',
    limits: { rpm: 'unlimited', tpm: 123_457, rpd: 7, concurrency: 3 },
    timezone: 'America/St_Johns',
    price_factor: '0.987654',
  })
  return id
}

const accountLimitsForm = async (context: FormContext): Promise<EditForm> => {
  const id = await createAccount(context)
  return {
    page: `/operator/accounts/${id}?edit=limits`,
    path: `/accounts/${id}`,
    change: fill('rpd', '8'),
    changed: { limits: { rpd: 8 } },
  }
}

const apiKeyForm = async (context: FormContext): Promise<EditForm> => {
  const id = await createId(context, `/accounts/${context.customerId}/keys`, {
    name: 'first',
    expires_at: '2031-02-03T04:05:06.789Z',
    models: ['split', 'unknown-*'],
    ips: ['192.0.2.1', '2001:db8::/32', '10.0.0.0/8'],
    caps: { daily: '1.000000001', monthly: '2.000000002', total: '3.000000003' },
    limits: { rpm: 'unlimited', tpm: 123_457, rpd: 0, concurrency: 3 },
  })
  return {
    page: `/keys?edit=${id}`,
    isOfCustomer: true,
    path: `/keys/${id}`,
    empty: ['last_used_at'],
    change: fill('tpm', '123459'),
    changed: { limits: { tpm: 123_459 } },
  }
}

const capsForm = async ({ server, customerId }: FormContext): Promise<EditForm> => {
  const caps = { daily: '5.000000001', monthly: '50.123456789' }
  await server.admin('PATCH', `/accounts/${customerId}`, { caps })
  return {
    page: '/billing?edit=caps',
    isOfCustomer: true,
    path: `/accounts/${customerId}`,
    empty: ['name', 'price_factor', 'low_balance', 'limits'],
    change: fill('daily', '5.000000003'),
    changed: { caps: { daily: '5.000000003' } },
  }
}

const channelForm = async (context: FormContext): Promise<EditForm> => {
  const id = await createId(context, '/channels', {
    name: 'erp',
    kind: 'webhook',
    address: 'https://erp.example/hook/with-a-long-path',
    notices: ['backup', 'incident'],
    language: 'zh-CN',
    enabled: false,
  })
  return {
    page: `/operator/notices?edit=${id}`,
    path: '/channels',
    isObject: (resource) => resource['id'] === id,
    empty: ['account', 'last_sent_at', 'problem'],
    change: fill('name', 'erp-2'),
    changed: { name: 'erp-2' },
  }
}

const preferencesForm = async (context: FormContext): Promise<EditForm> => {
  const { server, customerId } = context
  await createId(context, '/channels', {
    name: 'theirs',
    kind: 'webhook',
    address: 'https://theirs.example/hook',
    enabled: false,
    account: customerId,
  })
  const path = `/accounts/${customerId}/notice-preferences`
  await server.admin('PATCH', path, { incident: ['theirs', 'email'], key: [], balance: ['not-yet'] })
  return {
    page: '/notices',
    isOfCustomer: true,
    submit: null,
    path,
    empty: ['key'],
    change: (page) => page.getByRole('checkbox', { name: 'Incidents' }).click(),
    changed: { incident: ['theirs'] },
  }
}

const promotionForm = async (context: FormContext): Promise<EditForm> => {
  const id = await createId(context, '/promotions', {
    name: 'Spring',
    amount: '0.123456789',
    code: 'spring-26',
    starts_at: '2026-01-02T03:04:05.678Z',
    ends_at: '2031-02-03T04:05:06.789Z',
    max_grants: 1009,
    credit_days: 31,
    status: 'paused',
  })
  return {
    page: `/operator/promotions?edit=${id}`,
    path: `/promotions/${id}`,
    change: fill('most', '1013'),
    changed: { max_grants: 1013 },
  }
}

const rechargePromotionForm = async (context: FormContext): Promise<EditForm> => {
  const id = await createId(context, '/promotions', {
    name: 'Spring',
    on: 'recharge',
    starts_at: '2026-01-02T03:04:05.678Z',
    ends_at: '2031-02-03T04:05:06.789Z',
    tiers: [{ min: '10.000000001', percent: '1.5', max: '3.000000003' }],
    first_only: true,
    budget: '1000.000000007',
    per_account: '7.000000009',
  })
  return {
    page: `/operator/promotions?edit=${id}`,
    path: `/promotions/${id}`,
    change: fill('name', 'Summer'),
    changed: { name: 'Summer' },
  }
}

const incidentForm = async (context: FormContext): Promise<EditForm> => {
  const id = await createId(context, '/incidents', {
    title: 'Slow responses',
    status: 'resolved',
    severity: 'major',
    models: ['split', 'unknown-model'],
    public: false,
    message: 'We are looking into it.',
    opened_at: '2026-01-02T03:04:05.678Z',
  })
  return {
    page: `/operator/incidents?edit=${id}`,
    submit: 'Post update',
    path: `/incidents/${id}`,
    change: fill('title', 'Very slow responses'),
    changed: { title: 'Very slow responses' },
  }
}

const announcementForm = async (context: FormContext): Promise<EditForm> => {
  const id = await createId(context, '/announcements', {
    title: { en: 'Maintenance', 'zh-CN': '维护' },
    text: { en: 'At three.', 'zh-CN': '三点。' },
    severity: 'critical',
    from: '2026-01-02T03:04:05.678Z',
    to: '2031-02-03T04:05:06.789Z',
  })
  return {
    page: `/operator/announcements?edit=${id}`,
    path: '/announcements',
    isObject: (resource) => resource['id'] === id,
    change: fill('title_en', 'Upgrade'),
    changed: { title: { en: 'Upgrade' } },
  }
}

const brandingForm = async ({ server }: FormContext): Promise<EditForm> => {
  await server.admin('PUT', '/branding', {
    name: 'Acme & Söhne',
    logo: createPng({ width: 40, height: 20 }).toString('base64'),
    colors: { light: '#0b6a84', dark: '#52c5dc' },
    links: [{ label: 'Docs', url: 'https://docs.example/?a=1&b=%22' }],
    terms: 'First line\n\n  indented',
    privacy: 'https://acme.example/privacy',
    support: { contact: 'help@acme.example', text: 'Weekdays' },
  })
  return {
    page: '/operator/branding?edit=yes',
    path: '/branding',
    change: fill('text', 'Every day'),
    changed: { support: { text: 'Every day' } },
  }
}

/** By the name of their component. */
export const editForms: Readonly<Record<string, (context: FormContext) => Promise<EditForm>>> = {
  ...catalogEditForms,
  AccountLimitsForm: accountLimitsForm,
  AnnouncementForm: announcementForm,
  ApiKeyForm: apiKeyForm,
  BrandingForm: brandingForm,
  CapsForm: capsForm,
  ChannelForm: channelForm,
  EmailPreferences: preferencesForm,
  PromotionForm: promotionForm,
  RechargePromotionForm: rechargePromotionForm,
  IncidentForm: incidentForm,
}
