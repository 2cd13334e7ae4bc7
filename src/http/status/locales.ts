/** What the status page says, in each language, and which one a reader gets. */
import { automaticTitle } from '../../health/automatic-incidents.ts'
import type {
  Incident,
  IncidentPost,
  IncidentSeverity,
  IncidentStatus,
  PostCode,
} from '../../health/incidents.ts'
import { languages, type Language } from '../../notifications/locales/notification-texts.ts'
import type { State } from './state.ts'

export interface StatusWords {
  readonly title: string
  readonly states: Readonly<Record<State, string>>
  /** Of the whole service. */
  readonly overall: Readonly<Record<State, string>>
  readonly status: Readonly<Record<IncidentStatus, string>>
  readonly severity: Readonly<Record<IncidentSeverity, string>>
  readonly posts: Readonly<Record<PostCode, string>>
  readonly failing: (model: string) => string
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
  readonly explained: string
  readonly otherLanguage: string
}

const english: StatusWords = {
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
    failing:
      'Requests to this model are failing more often than its objective allows. We are looking into it.',
    failing_again: 'Requests to this model are failing again.',
    recovered: 'Requests to this model are answered again as they should be.',
    quiet: 'There were no requests to this model for a while, and so no failures.',
  },
  failing: automaticTitle,
  open: 'Now',
  past: 'Past incidents',
  noPast: 'No incidents in the last 90 days.',
  models: 'Models',
  noModels: 'No models are offered yet.',
  addresses: 'Addresses',
  up: 'Reachable',
  down: 'Not reachable',
  daysAgo: '90 days ago',
  today: 'Today',
  noData: 'no requests',
  days: (percent) => `${percent} of the last 90 days’ requests were answered`,
  wholeService: 'Whole service',
  updated: 'As of',
  explained:
    'Share of the requests that were ours to answer and were answered, by day (UTC). Callers’ own mistakes do not count.',
  otherLanguage: '简体中文',
}

const chinese: StatusWords = {
  title: '服务状态',
  states: { up: '正常', degraded: '部分异常', down: '不可用' },
  overall: { up: '所有模型运行正常', degraded: '部分请求失败', down: '请求正在失败' },
  status: { investigating: '正在调查', identified: '已查明原因', monitoring: '正在观察', resolved: '已解决' },
  severity: { minor: '轻微', major: '较重', critical: '严重' },
  posts: {
    failing: '该模型的请求失败次数超过其目标所允许的范围，我们正在调查。',
    failing_again: '该模型的请求再次失败。',
    recovered: '该模型的请求已恢复正常。',
    quiet: '该模型已有一段时间没有请求，因此也没有失败。',
  },
  failing: (model) => `${model}：请求正在失败`,
  open: '当前',
  past: '历史故障',
  noPast: '过去 90 天没有故障。',
  models: '模型',
  noModels: '尚未提供任何模型。',
  addresses: '接入地址',
  up: '可访问',
  down: '无法访问',
  daysAgo: '90 天前',
  today: '今天',
  noData: '没有请求',
  days: (percent) => `过去 90 天的请求中有 ${percent} 得到了回答`,
  wholeService: '整个服务',
  updated: '更新于',
  explained: '每天（UTC）应由我们回答的请求中得到回答的比例；调用方自身的错误不计入。',
  otherLanguage: 'English',
}

export const statusWords: Readonly<Record<Language, StatusWords>> = { en: english, 'zh-CN': chinese }

/** `?lang=` decides, else the first language of the browser's list that there is. */
export function languageOf(asked: string | null, accepted: string | null): Language {
  const known = (tag: string): Language | undefined => {
    const lower = tag.trim().toLowerCase()
    if (lower.startsWith('zh')) return 'zh-CN'
    return languages.find((language) => lower === language || lower.startsWith(`${language}-`))
  }
  const named = asked === null ? undefined : known(asked)
  if (named !== undefined) return named
  const wishes = (accepted ?? '')
    .slice(0, 500)
    .split(',')
    .map((part) => {
      const [tag = '', ...options] = part.split(';')
      const quality = options.map((option) => /^\s*q=([\d.]+)\s*$/.exec(option)?.[1]).find(Boolean)
      return { tag, quality: Number(quality ?? 1) }
    })
  const best = wishes.toSorted((left, right) => right.quality - left.quality)
  return best.map(({ tag }) => known(tag)).find((language) => language !== undefined) ?? 'en'
}

/** An incident's title: what the relay itself titled is said in the reader's language. */
export function titleOf({ title, watchedModel }: Incident, words: StatusWords): string {
  const isAutomatic = watchedModel !== null && title === automaticTitle(watchedModel)
  return isAutomatic ? words.failing(watchedModel) : title
}

export function textOfPost({ code, message }: IncidentPost, words: StatusWords): string {
  return code === null ? message : words.posts[code]
}
