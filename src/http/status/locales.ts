/** The texts of the status page in each language, and the choice of the language. */
import { automaticTitle } from '../../health/automatic-incidents.ts'
import { noModel, relayApi } from '../../health/availability.ts'
import type {
  Incident,
  IncidentPost,
  IncidentSeverity,
  IncidentStatus,
  PostCode,
} from '../../health/incidents.ts'
import type { Language } from '../../notifications/locales/notification-texts.ts'
import type { State } from './state.ts'

export interface StatusMessages {
  readonly title: string
  readonly states: Readonly<Record<State, string>>
  /** State of the whole service. */
  readonly overall: Readonly<Record<State, string>>
  readonly status: Readonly<Record<IncidentStatus, string>>
  readonly severity: Readonly<Record<IncidentSeverity, string>>
  /** Of incidents of a model. */
  readonly posts: Readonly<Record<PostCode, string>>
  /** Of incidents of the relay's own API. */
  readonly relayApiPosts: Readonly<Record<PostCode, string>>
  /** The title of an automatic incident. */
  readonly failing: (model: string) => string
  readonly relayApi: string
  readonly components: string
  readonly open: string
  readonly past: string
  readonly noPast: string
  readonly models: string
  readonly noModels: string
  readonly addresses: string
  readonly up: string
  readonly down: string
  readonly daysAgo: string
  readonly today: string
  readonly noData: string
  readonly days: (percent: string) => string
  readonly wholeService: string
  readonly updated: string
  readonly explanation: string
}

const english: StatusMessages = {
  title: 'Status',
  states: { up: 'Operational', degraded: 'Degraded', down: 'Down' },
  overall: {
    up: 'All models are operational',
    degraded: 'Some requests are failing',
    down: 'Requests are failing',
  },
  status: {
    investigating: 'Investigating',
    identified: 'Identified',
    monitoring: 'Monitoring',
    resolved: 'Resolved',
  },
  severity: { minor: 'minor', major: 'major', critical: 'critical' },
  posts: {
    failing: 'The error rate of this model exceeds its objective. We are investigating.',
    failing_again: 'Requests to this model are failing again.',
    recovered: 'Requests to this model are succeeding again.',
    quiet: 'There have been no requests to this model for a while, and therefore no failures.',
  },
  relayApiPosts: {
    failing: 'The service is rejecting requests. We are investigating.',
    failing_again: 'The service is rejecting requests again.',
    recovered: 'The service is accepting requests again.',
    quiet: 'There have been no requests for a while, and therefore no failures.',
  },
  failing: automaticTitle,
  relayApi,
  components: 'Components',
  open: 'Now',
  past: 'Past incidents',
  noPast: 'No incidents in the last 90 days.',
  models: 'Models',
  noModels: 'No models are available yet.',
  addresses: 'API endpoints',
  up: 'Reachable',
  down: 'Unreachable',
  daysAgo: '90 days ago',
  today: 'Today',
  noData: 'no requests',
  days: (percent) => `Success rate of the last 90 days: ${percent}`,
  wholeService: 'Whole service',
  updated: 'As of',
  explanation: 'Daily success rate of valid requests (UTC). Client errors are not counted.',
}

const chinese: StatusMessages = {
  title: '服务状态',
  states: { up: '正常', degraded: '部分异常', down: '不可用' },
  overall: { up: '所有模型运行正常', degraded: '部分请求失败', down: '服务不可用' },
  status: { investigating: '调查中', identified: '已定位原因', monitoring: '观察中', resolved: '已恢复' },
  severity: { minor: '一般', major: '严重', critical: '重大' },
  posts: {
    failing: '该模型的失败率已超出可用性目标允许的范围，我们正在排查。',
    failing_again: '该模型的请求再次失败。',
    recovered: '该模型已恢复正常。',
    quiet: '该模型近期没有请求，未再出现失败。',
  },
  relayApiPosts: {
    failing: '平台暂时无法受理请求，我们正在排查。',
    failing_again: '平台再次无法受理请求。',
    recovered: '平台已恢复受理请求。',
    quiet: '近期没有请求，未再出现失败。',
  },
  failing: (model) => (model === noModel ? 'API 服务异常，无法受理请求' : `${model} 请求异常`),
  relayApi: 'API 服务',
  components: '平台服务',
  open: '当前故障',
  past: '历史故障',
  noPast: '过去 90 天无故障。',
  models: '模型',
  noModels: '暂无可用模型。',
  addresses: '接口地址',
  up: '可访问',
  down: '无法访问',
  daysAgo: '90 天前',
  today: '今天',
  noData: '无请求',
  days: (percent) => `过去 90 天成功率：${percent}`,
  wholeService: '全部服务',
  updated: '更新于',
  explanation: '有效请求的每日成功率（UTC），不含客户端错误。',
}

export const statusMessages: Readonly<Record<Language, StatusMessages>> = { en: english, 'zh-CN': chinese }

/** Titles that the relay generated are localized. */
export function incidentTitle({ title, watchedModel }: Incident, messages: StatusMessages): string {
  const isAutomatic = watchedModel !== null && title === automaticTitle(watchedModel)
  return isAutomatic ? messages.failing(watchedModel) : title
}

export function postText(
  { watchedModel }: Incident,
  { code, message }: IncidentPost,
  messages: StatusMessages,
): string {
  if (code === null) return message
  return (watchedModel === noModel ? messages.relayApiPosts : messages.posts)[code]
}
