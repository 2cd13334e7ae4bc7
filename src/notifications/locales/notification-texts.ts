/**
 * The texts of every notification in each language. A notification itself stores only a code and parameters.
 * `{name}` is replaced by the parameter, `{name:time}` by a time in the notification's time zone.
 */
import { incidentTexts } from './incident-texts.ts'

export const languages = ['en', 'zh-CN'] as const
export type Language = (typeof languages)[number]

export interface NotificationText {
  readonly title: string
  readonly text: string
}

export type LocalizedTexts = Readonly<Record<Language, NotificationText>>

/** The three texts of a cap: at 50%, at 80% and when reached. `resumes` is true if its period ends. */
function capTexts(
  english: string,
  chinese: string,
  resumes: boolean,
): readonly [LocalizedTexts, LocalizedTexts, LocalizedTexts] {
  const [until, lasting] = resumes
    ? ([' until {resumes_at:time}.', '，{resumes_at:time} 恢复。'] as const)
    : ([' until you raise the cap.', '，提高上限后可继续使用。'] as const)
  const named = `${english.charAt(0).toUpperCase()}${english.slice(1)}`
  return [
    {
      en: {
        title: `50% of ${english} used`,
        text: 'You have spent {spent} of {cap} {currency}.',
      },
      'zh-CN': {
        title: `${chinese}已使用一半`,
        text: '已消费 {spent} / {cap} {currency}。',
      },
    },
    {
      en: {
        title: `80% of ${english} used`,
        text: `You have spent {spent} of {cap} {currency}. Once the cap is reached, requests are rejected${until}`,
      },
      'zh-CN': {
        title: `${chinese}已使用 80%`,
        text: `已消费 {spent} / {cap} {currency}。达到上限后，请求将被拒绝${lasting}`,
      },
    },
    {
      en: {
        title: `${named} has been reached`,
        text: `You have spent {spent} of {cap} {currency}. Requests are rejected${until}`,
      },
      'zh-CN': {
        title: `已达到${chinese}`,
        text: `已消费 {spent} / {cap} {currency}，新请求将被拒绝${lasting}`,
      },
    },
  ]
}

const accountDay = capTexts('the daily spend cap of your account', '账户的每日消费上限', true)
const accountMonth = capTexts('the monthly spend cap of your account', '账户的每月消费上限', true)
const keyDay = capTexts('the daily spend cap of key “{key}”', '密钥“{key}”的每日消费上限', true)
const keyMonth = capTexts('the monthly spend cap of key “{key}”', '密钥“{key}”的每月消费上限', true)
const keyTotal = capTexts('the total spend cap of key “{key}”', '密钥“{key}”的累计消费上限', false)

const texts = {
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
      text: 'You have {balance} {currency} left. Top up in time: without a balance, requests are rejected.',
    },
    'zh-CN': {
      title: '余额预警',
      text: '余额仅剩 {balance} {currency}，请及时充值。余额用尽后，请求将被拒绝。',
    },
  },
  balance_used_up: {
    en: {
      title: 'Insufficient balance',
      text: 'Requests are rejected: you have {balance} {currency} left. Top up to continue.',
    },
    'zh-CN': {
      title: '余额不足',
      text: '请求被拒绝：当前余额 {balance} {currency} 不足以支付请求费用。充值后可继续使用。',
    },
  },
  trial_ending: {
    en: {
      title: 'Your trial credit expires soon',
      text: 'You can use the remaining {left} {currency} until {ends_at:time}.',
    },
    'zh-CN': {
      title: '试用额度即将到期',
      text: '剩余 {left} {currency} 试用额度，有效期至 {ends_at:time}。',
    },
  },
  trial_ended: {
    en: {
      title: 'Your trial credit has expired',
      text: 'The unused {taken} {currency} are no longer available. Top up to continue.',
    },
    'zh-CN': {
      title: '试用额度已到期',
      text: '未使用的 {taken} {currency} 已失效。充值后可继续使用。',
    },
  },
  promotion_used_up: {
    en: {
      title: 'The promotion “{promotion}” is used up',
      text: 'All {grants} credits have been granted. New accounts no longer receive one.',
    },
    'zh-CN': {
      title: '优惠活动“{promotion}”已领完',
      text: '全部 {grants} 份试用额度已发放完毕，新账户将不再获得。',
    },
  },
  tier_changed: {
    en: {
      title: 'Your account has moved to the tier “{to}”',
      text: 'Thank you for your first payment. The limits of the tier “{to}” now apply instead of those of “{from}”.',
    },
    'zh-CN': {
      title: '您的账户已升级为“{to}”等级',
      text: '感谢您的首次付款。即日起适用“{to}”等级的速率限制，不再适用“{from}”等级。',
    },
  },
  backup_failed: {
    en: {
      title: 'Backup failed',
      text: 'The scheduled backup failed: {problem}.',
    },
    'zh-CN': {
      title: '备份失败',
      text: '自动备份失败：{problem}。',
    },
  },
  key_unusual: {
    en: {
      title: 'Unusual usage of the key “{key}”',
      text: '{cost} {currency} were spent in one hour; the usual maximum is {usual} {currency}. If this was not you, delete the key and create a new one.',
    },
    'zh-CN': {
      title: '密钥“{key}”用量异常',
      text: '一小时内消费 {cost} {currency}，平时最高为 {usual} {currency}。如非本人操作，请删除该密钥并新建。',
    },
  },
  ...incidentTexts,
} as const satisfies Record<string, LocalizedTexts>

export type NotificationCode = keyof typeof texts
export type NotificationParams = Readonly<Record<string, string>>

export const notificationTexts: Readonly<Record<NotificationCode, LocalizedTexts>> = texts

/** `2026-11-22 00:00 (Asia/Shanghai)`. */
function localTime(time: string, timezone: string): string {
  const clock = new Intl.DateTimeFormat('sv-SE', {
    timeZone: timezone,
    dateStyle: 'short',
    timeStyle: 'short',
  })
  return `${clock.format(new Date(time))} (${timezone})`
}

function fillPlaceholders(pattern: string, params: NotificationParams): string {
  return pattern.replaceAll(/\{(\w+)(:time)?\}/g, (_, name: string, isTime?: string) => {
    const value = params[name] ?? ''
    return isTime === undefined || value === '' ? value : localTime(value, params['timezone'] ?? 'UTC')
  })
}

/** The text of a notification. Parameters contain texts from people and upstreams: escape them in markup. */
export function renderText(
  notification: { readonly code: NotificationCode; readonly params: NotificationParams },
  language: Language,
): NotificationText {
  const { title, text } = notificationTexts[notification.code][language]
  return {
    title: fillPlaceholders(title, notification.params),
    text: fillPlaceholders(text, notification.params),
  }
}
