/**
 * The words of every notice, in each language. A notice itself carries none: it keeps a code and what its words name.
 * `{name}` stands for the parameter of that name, `{name:time}` for a time as the clock of the notice's time zone shows it.
 */
import { incidentWords } from '../../notices/incident-words.ts'

export const languages = ['en', 'zh-CN'] as const
export type Language = (typeof languages)[number]

export interface Words {
  readonly title: string
  readonly text: string
}

export type NoticeWords = Readonly<Record<Language, Words>>

/** A cap's three notices: at 50 %, at 80 %, and when it is reached. `resumes`: whether its period ends. */
function capWords(
  english: string,
  chinese: string,
  resumes: boolean,
): readonly [NoticeWords, NoticeWords, NoticeWords] {
  const [until, lasting] = resumes
    ? ([' Service resumes at {resumes_at:time}.', '服务将于 {resumes_at:time} 恢复。'] as const)
    : ([' Raise the cap to go on.', '提高上限后可继续使用。'] as const)
  const named = `${english.charAt(0).toUpperCase()}${english.slice(1)}`
  return [
    {
      en: {
        title: `Half of ${english} is used`,
        text: '{spent} of {cap} {currency} are spent.',
      },
      'zh-CN': {
        title: `${chinese}已使用一半`,
        text: '已消费 {spent} / {cap} {currency}。',
      },
    },
    {
      en: {
        title: `80% of ${english} is used`,
        text: `{spent} of {cap} {currency} are spent. At the cap, requests are refused.${until}`,
      },
      'zh-CN': {
        title: `${chinese}已使用 80%`,
        text: `已消费 {spent} / {cap} {currency}。达到上限后请求将被拒绝。${lasting}`,
      },
    },
    {
      en: {
        title: `${named} is reached`,
        text: `{spent} of {cap} {currency} are spent, and requests are refused.${until}`,
      },
      'zh-CN': {
        title: `已达到${chinese}`,
        text: `已消费 {spent} / {cap} {currency}，请求将被拒绝。${lasting}`,
      },
    },
  ]
}

const accountDay = capWords('the daily spend cap of your account', '账户的每日消费上限', true)
const accountMonth = capWords('the monthly spend cap of your account', '账户的每月消费上限', true)
const keyDay = capWords('the daily spend cap of key “{key}”', '密钥“{key}”的每日消费上限', true)
const keyMonth = capWords('the monthly spend cap of key “{key}”', '密钥“{key}”的每月消费上限', true)
const keyTotal = capWords('the total spend cap of key “{key}”', '密钥“{key}”的总消费上限', false)

const words = {
  account_daily_cap_50: accountDay[0],
  account_daily_cap_80: accountDay[1],
  account_daily_cap_100: accountDay[2],
  account_monthly_cap_50: accountMonth[0],
  account_monthly_cap_80: accountMonth[1],
  account_monthly_cap_100: accountMonth[2],
  key_daily_cap_50: keyDay[0],
  key_daily_cap_80: keyDay[1],
  key_daily_cap_100: keyDay[2],
  key_monthly_cap_50: keyMonth[0],
  key_monthly_cap_80: keyMonth[1],
  key_monthly_cap_100: keyMonth[2],
  key_total_cap_50: keyTotal[0],
  key_total_cap_80: keyTotal[1],
  key_total_cap_100: keyTotal[2],
  balance_low: {
    en: {
      title: 'Your balance is low',
      text: '{balance} {currency} are left. Recharge in time: without a balance, requests are refused.',
    },
    'zh-CN': {
      title: '余额不足提醒',
      text: '余额仅剩 {balance} {currency}。请及时充值；余额用尽后请求将被拒绝。',
    },
  },
  balance_used_up: {
    en: {
      title: 'Your balance no longer covers requests',
      text: 'Requests are refused: {balance} {currency} are left. Recharge to go on.',
    },
    'zh-CN': {
      title: '余额已不足以支付请求',
      text: '请求将被拒绝：余额剩余 {balance} {currency}。充值后可继续使用。',
    },
  },
  trial_ending: {
    en: {
      title: 'Your trial credit ends soon',
      text: 'What is left of it, {left} {currency}, can be used until {ends_at:time}.',
    },
    'zh-CN': {
      title: '试用额度即将到期',
      text: '剩余的试用额度 {left} {currency} 可使用至 {ends_at:time}。',
    },
  },
  trial_ended: {
    en: {
      title: 'Your trial credit has ended',
      text: '{taken} {currency} of it were left and are no longer available. Recharge to go on.',
    },
    'zh-CN': {
      title: '试用额度已到期',
      text: '未使用的 {taken} {currency} 已失效。充值后可继续使用。',
    },
  },
  promotion_used_up: {
    en: {
      title: 'The promotion “{promotion}” is used up',
      text: 'All {grants} credits are granted. New accounts get none from now on.',
    },
    'zh-CN': {
      title: '优惠活动“{promotion}”的名额已用完',
      text: '全部 {grants} 份试用额度均已发放，之后的新账户将不再获得。',
    },
  },
  tier_changed: {
    en: {
      title: 'Your account is now in the tier “{to}”',
      text: 'Thank you for your first payment. The limits of the tier “{to}” hold from now on, in place of those of “{from}”.',
    },
    'zh-CN': {
      title: '您的账户已升级为“{to}”等级',
      text: '感谢您的首次付款。从现在起适用“{to}”等级的限额，取代原“{from}”等级。',
    },
  },
  backup_failed: {
    en: {
      title: 'A backup could not be made',
      text: 'The backup that is made by itself has failed: {problem}.',
    },
    'zh-CN': {
      title: '备份失败',
      text: '自动备份失败：{problem}。',
    },
  },
  key_unusual: {
    en: {
      title: 'The key “{key}” is used far more than before',
      text: '{cost} {currency} in one hour; usually it is at most {usual} {currency}. If that was not you, delete the key and make another.',
    },
    'zh-CN': {
      title: '密钥“{key}”用量异常',
      text: '一小时内消费 {cost} {currency}，平时最多 {usual} {currency}。若非本人使用，请删除该密钥并新建。',
    },
  },
  ...incidentWords,
} as const satisfies Record<string, NoticeWords>

export type NoticeCode = keyof typeof words
export type NoticeParams = Readonly<Record<string, string>>

export const noticeWords: Readonly<Record<NoticeCode, NoticeWords>> = words

/** `2026-11-22 00:00 (Asia/Shanghai)`. */
function localTime(time: string, timezone: string): string {
  const clock = new Intl.DateTimeFormat('sv-SE', {
    timeZone: timezone,
    dateStyle: 'short',
    timeStyle: 'short',
  })
  return `${clock.format(new Date(time))} (${timezone})`
}

function filled(pattern: string, params: NoticeParams): string {
  return pattern.replaceAll(/\{(\w+)(:time)?\}/g, (_, name: string, isTime?: string) => {
    const value = params[name] ?? ''
    return isTime === undefined || value === '' ? value : localTime(value, params['timezone'] ?? 'UTC')
  })
}

/** What a notice says. Parameters are texts of people and upstreams: escape them where the text becomes markup. */
export function textOf(
  notice: { readonly code: NoticeCode; readonly params: NoticeParams },
  language: Language,
): Words {
  const { title, text } = noticeWords[notice.code][language]
  return { title: filled(title, notice.params), text: filled(text, notice.params) }
}
