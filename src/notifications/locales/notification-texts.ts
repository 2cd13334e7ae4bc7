/**
 * The texts of every notification in each language. A notification itself stores only a code and parameters.
 * `{name}` is replaced by the parameter, `{name:time}` by a time in the notification's time zone.
 */
import { bilingual, incidentTexts } from './incident-texts.ts'

export const languages = ['en', 'zh-CN'] as const
export type Language = (typeof languages)[number]

export interface NotificationText {
  readonly title: string
  readonly text: string
}

export type LocalizedTexts = Readonly<Record<Language, NotificationText>>

/** The three texts of a cap: at 50%, at 80% and when reached. */
function capTexts<Cap extends string>(cap: Cap, english: string, chinese: string) {
  // A total cap has no period that ends.
  const [until, lasting] = cap.endsWith('_total_cap')
    ? [' until you raise the cap.', '，提高上限后可继续使用。']
    : [' until {resumes_at:time}.', '，{resumes_at:time} 恢复。']
  const named = `${english.charAt(0).toUpperCase()}${english.slice(1)}`
  const texts = {
    [`${cap}_50`]: bilingual(
      `50% of ${english} used`,
      'You have spent {spent} of {cap} {currency}.',
      `${chinese}已使用一半`,
      '已消费 {spent} / {cap} {currency}。',
    ),
    [`${cap}_80`]: bilingual(
      `80% of ${english} used`,
      `You have spent {spent} of {cap} {currency}. Once the cap is reached, requests are rejected${until}`,
      `${chinese}已使用 80%`,
      `已消费 {spent} / {cap} {currency}。达到上限后，请求将被拒绝${lasting}`,
    ),
    [`${cap}_100`]: bilingual(
      `${named} has been reached`,
      `You have spent {spent} of {cap} {currency}. Requests are rejected${until}`,
      `已达到${chinese}`,
      `已消费 {spent} / {cap} {currency}，新请求将被拒绝${lasting}`,
    ),
  }
  return texts as Record<`${Cap}_50` | `${Cap}_80` | `${Cap}_100`, LocalizedTexts>
}

const texts = {
  ...capTexts('account_daily_cap', 'the daily spend cap of your account', '账户的每日消费上限'),
  ...capTexts('account_monthly_cap', 'the monthly spend cap of your account', '账户的每月消费上限'),
  ...capTexts('key_daily_cap', 'the daily spend cap of key “{key}”', '密钥“{key}”的每日消费上限'),
  ...capTexts('key_monthly_cap', 'the monthly spend cap of key “{key}”', '密钥“{key}”的每月消费上限'),
  ...capTexts('key_total_cap', 'the total spend cap of key “{key}”', '密钥“{key}”的累计消费上限'),
  balance_low: bilingual(
    'Your balance is low',
    'You have {balance} {currency} left. Top up in time: without a balance, requests are rejected.',
    '余额预警',
    '余额仅剩 {balance} {currency}，请及时充值。余额用尽后，请求将被拒绝。',
  ),
  balance_used_up: bilingual(
    'Insufficient balance',
    'Requests are rejected: you have {balance} {currency} left. Top up to continue.',
    '余额不足',
    '请求被拒绝：当前余额 {balance} {currency} 不足以支付请求费用。充值后可继续使用。',
  ),
  trial_ending: bilingual(
    'Your trial credit expires soon',
    'You can use the remaining {left} {currency} until {ends_at:time}.',
    '试用额度即将到期',
    '剩余 {left} {currency} 试用额度，有效期至 {ends_at:time}。',
  ),
  trial_ended: bilingual(
    'Your trial credit has expired',
    'The unused {taken} {currency} are no longer available. Top up to continue.',
    '试用额度已到期',
    '未使用的 {taken} {currency} 已失效。充值后可继续使用。',
  ),
  promotion_used_up: bilingual(
    'The promotion “{promotion}” is used up',
    'All {grants} credits have been granted. New accounts no longer receive one.',
    '优惠活动“{promotion}”已领完',
    '全部 {grants} 份试用额度已发放完毕，新账户将不再获得。',
  ),
  tier_changed: bilingual(
    'Your account has moved to the tier “{to}”',
    'Thank you for your first payment. The limits of the tier “{to}” now apply instead of those of “{from}”.',
    '您的账户已升级为“{to}”等级',
    '感谢您的首次付款。即日起适用“{to}”等级的速率限制，不再适用“{from}”等级。',
  ),
  payment_received: bilingual(
    'Your payment of {amount} {currency} has arrived',
    '{credit} {platform} were added to your balance.',
    '已收到您的付款 {amount} {currency}',
    '已为您的余额增加 {credit} {platform}。',
  ),
  referral_rewarded: bilingual(
    'You have received {amount} {currency} for a referral',
    'The first payment has cleared, and the reward was added to your balance.',
    '您获得了 {amount} {currency} 邀请奖励',
    '首次付款已满足条件，奖励已存入您的余额。',
  ),
  recharge_declined: bilingual(
    'The automatic recharge of {amount} {currency} failed',
    'The card ending in {card} was declined. The next attempt is at {next_at:time}. To recharge now: {url}',
    '自动充值 {amount} {currency} 失败',
    '尾号 {card} 的银行卡扣款被拒，下次扣款时间为 {next_at:time}。立即充值：{url}',
  ),
  recharge_paused: bilingual(
    'Automatic recharge is paused',
    'The card ending in {card} could not be charged. Check the settings of automatic recharge, or recharge yourself: {url}',
    '自动充值已暂停',
    '无法向尾号 {card} 的银行卡扣款。请检查自动充值设置，或手动充值：{url}',
  ),
  recharge_needs_payer: bilingual(
    'Your bank asks you to confirm the recharge of {amount} {currency}',
    'The card ending in {card} cannot be charged without you, so automatic recharge is paused. Recharge here: {url}',
    '充值 {amount} {currency} 需要您本人确认',
    '发卡行要求持卡人验证，尾号 {card} 的银行卡无法自动扣款，自动充值已暂停。请前往充值：{url}',
  ),
  recharge_card_removed: bilingual(
    'Automatic recharge is off',
    'The card ending in {card} is no longer saved. To recharge, and to save another card: {url}',
    '自动充值已关闭',
    '尾号 {card} 的银行卡已移除。如需充值或重新绑卡，请前往：{url}',
  ),
  recharge_limit_reached: bilingual(
    'The monthly limit of automatic recharge is reached',
    'Another {amount} {currency} would exceed the limit of {limit} {currency}. Automatic recharge goes on at {next_at:time}. To recharge now: {url}',
    '自动充值已达每月上限',
    '再充值 {amount} {currency} 将超出每月上限 {limit} {currency}，自动充值将于 {next_at:time} 恢复。立即充值：{url}',
  ),
  payment_difference: bilingual(
    'A payment by {method} was not credited',
    '{amount} {currency} for order {order} differ from what was ordered, or were paid twice. Decide under Payments, Differences.',
    '有一笔 {method} 付款未入账',
    '订单 {order} 的付款 {amount} {currency} 与订单不符或重复支付，请在“支付”的“差异”中处理。',
  ),
  refund_requested: bilingual(
    'A refund of {amount} {currency} was requested',
    'For order {order}. The balance was taken back; approve or refuse it under Payments, Refunds.',
    '有一笔 {amount} {currency} 的退款申请',
    '订单 {order}。余额已扣回，请在“支付”的“退款”中批准或拒绝。',
  ),
  refund_done: bilingual(
    'Your refund of {amount} {currency} was made',
    'For order {order}. It goes back the way you paid, and may take a few days to arrive.',
    '您的退款 {amount} {currency} 已办理',
    '订单 {order}。款项将原路退回，到账可能需要几天。',
  ),
  refund_refused: bilingual(
    'Your refund of {amount} {currency} was refused',
    'For order {order}. The amount is back on your balance. Reason: {reason}',
    '您的 {amount} {currency} 退款申请未通过',
    '订单 {order}。金额已退回余额。原因：{reason}',
  ),
  refund_failed: bilingual(
    'Your refund of {amount} {currency} was not made',
    'For order {order}. The payment provider rejected it, and the amount is back on your balance. Contact support if you need help.',
    '您的退款 {amount} {currency} 未能办理',
    '订单 {order}。支付渠道拒绝了该笔退款，金额已退回余额。如有疑问，请联系客服。',
  ),
  invoice_requested: bilingual(
    'An invoice for {amount} {currency} was requested',
    'Title: {title}. Issue or refuse it under Invoices.',
    '有一笔 {amount} {currency} 的开票申请',
    '发票抬头：{title}。请在“发票”中开具或拒绝。',
  ),
  invoice_issued: bilingual(
    'Your invoice for {amount} {currency} was issued',
    'Number {number}. Download it under Billing, Invoices.',
    '您申请的 {amount} {currency} 发票已开具',
    '发票号码 {number}。请在“账单与充值”的“发票”中下载。',
  ),
  invoice_refused: bilingual(
    'Your invoice for {amount} {currency} was not issued',
    'The operator says: {reason}. You can ask for another one.',
    '您申请的 {amount} {currency} 发票未能开具',
    '原因：{reason}。您可以重新申请。',
  ),
  invoice_reversed: bilingual(
    'Your invoice for {amount} {currency} was reversed',
    'Number {number} is no longer valid. The operator says: {reason}.',
    '您的 {amount} {currency} 发票已冲红',
    '发票号码 {number} 已作废。原因：{reason}。',
  ),
  payments_differ: bilingual(
    'Payments by {method} differ',
    'For {day}, {count} differences with the provider’s list wait for your decision under Payments, Differences.',
    '{method} 对账存在差异',
    '{day} 的账单有 {count} 处差异待处理，请前往“支付”的“差异”。',
  ),
  payments_not_compared: bilingual(
    'Payments by {method} could not be compared',
    'The comparison of {day} with the provider’s list failed: {problem} It is tried again for a week; see Payments, Methods.',
    '{method} 对账失败',
    '{day} 的对账未完成：{problem} 系统会在一周内自动重试，详情请见“支付”的“支付方式”。',
  ),
  payment_disputed: bilingual(
    'A payment of {amount} {currency} is disputed',
    'Order {order}. The balance was taken back as far as it was there; {receivable} {platform} are missing. Answer the dispute at the provider in time.',
    '有一笔 {amount} {currency} 的付款发生争议',
    '订单 {order}。已尽可能扣回余额，尚缺 {receivable} {platform}。请及时在支付渠道处理该争议。',
  ),
  payment_notices_forged: bilingual(
    'Notices of {method} have wrong signatures',
    'Ten notices within an hour could not be verified. If a key or secret was rotated, set the new one. Payments are still found, because the relay asks the provider itself.',
    '{method} 的通知签名错误',
    '一小时内有十条通知未通过验证。如果更换过密钥，请更新设置。付款仍会入账，因为系统会主动查询支付渠道。',
  ),
  backup_failed: bilingual(
    'Backup failed',
    'The scheduled backup failed: {problem}.',
    '备份失败',
    '自动备份失败：{problem}。',
  ),
  model_mismatch: bilingual(
    'The upstream “{upstream}” responds with another model',
    'Requests for “{model}” ask it for “{asked}”, and its responses name “{served}”. If that is the right model, set it in the route; otherwise ask the provider, and check what the model costs there.',
    '上游“{upstream}”返回的模型与请求不符',
    '模型“{model}”的请求向该上游调用“{asked}”，响应中的模型却是“{served}”。如属正常，请在路由中改用该名称；否则请联系供应商，并核对成本价。',
  ),
  maximum_exceeded: bilingual(
    'The upstream “{upstream}” ignores the output maximum',
    'A response of “{model}” was longer than the request allowed. From now on, requests to it hold the maximum of the model, so that customers cannot spend more than they have. If the upstream is repaired, reset this on the page of the model.',
    '上游“{upstream}”未遵守输出上限',
    '“{model}”的响应超出了请求设定的最大输出长度。为避免客户超支，此后该上游的请求将按模型的最大输出长度冻结金额。上游修复后，可在模型页面重置该状态。',
  ),
  unknown_finish: bilingual(
    'The upstream “{upstream}” ended a response with an unknown reason',
    'A response of “{model}” ended with the finish reason “{reason}”, which its provider does not document. The caller got the response and the reason unchanged, and paid for it; the request is listed as truncated. Ask the provider what the reason means.',
    '上游“{upstream}”返回了未知的结束原因',
    '“{model}”的一次响应以“{reason}”结束，供应商文档中没有该结束原因。响应及原因已原样返回给调用方并正常计费，请求记为“响应截断”。请向供应商确认其含义。',
  ),
  key_unusual: bilingual(
    'Unusual usage of the key “{key}”',
    '{cost} {currency} were spent in one hour; the usual maximum is {usual} {currency}. If this was not you, delete the key and create a new one.',
    '密钥“{key}”用量异常',
    '一小时内消费 {cost} {currency}，平时最高为 {usual} {currency}。如非本人操作，请删除该密钥并新建。',
  ),
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
