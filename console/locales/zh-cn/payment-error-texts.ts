/** The errors of payments, for error-texts.ts. */

export const paymentLabels: Readonly<Record<string, string>> = {
  client_key: '请求编号',
  effective_from: '生效时间',
  method: '支付方式',
  product: '支付产品',
  received: '到账金额',
  transaction: '流水号',
}

type Texts = readonly (readonly [RegExp, string])[]

export const paymentReasons: Texts = [
  [/^must be from (.+) to (.+) (\w+)$/, '必须在 $1 到 $2 $3 之间'],
  [/^must be more than the fee of (.+) (\w+)$/, '必须大于手续费 $1 $2'],
  [/^needs a rate from (\w+) to (\w+), which an operator sets$/, '缺少 $1 到 $2 的汇率，请联系管理员设置'],
  [/^exceeds the maximum of (.+) (\w+) in 24 hours$/, '超出 24 小时内的上限 $1 $2'],
  [/^is not configured; .*$/, '未开通'],
  [/^is not offered; .*$/, '不可用'],
  [/^is not an order by bank transfer$/, '不是银行转账订单'],
  [/^must be an amount in ([A-Z]{3}) with .*$/, '必须是有效的 $1 金额'],
  [/^has no list of payments to compare$/, '不支持对账'],
  [/^must not be before from$/, '不能早于开始日期'],
  [/^must be at most yesterday$/, '最晚为昨天'],
  [/^must be within (.+) days$/, '不能超过 $1 天'],
  [/^is required$/, '为必填项'],
  [/^must have 1 to (.+) tiers$/, '必须有 1 到 $1 档'],
  [/^must be at least 0$/, '不能为负数'],
  [/^must have either fixed or percent$/, '必须填写固定金额或百分比之一'],
  [/^must be greater than 0 and at most 100$/, '必须大于 0 且不超过 100'],
  [/^applies to percent only$/, '仅适用于百分比'],
  [/^does not apply to this promotion$/, '不适用于此活动'],
  [/^must be more than the fee$/, '必须大于手续费'],
  [/^must be the price of one (.+) in (.+), because .*$/, '必须填写 1 $1 折合的 $2 金额'],
  [/^must be another currency$/, '必须是其他币种'],
  [/^must be a number with at most six decimals, such as "7\.1"$/, '必须是数字，最多六位小数，例如 7.1'],
  [/^must be an ISO 4217 code such as "USD"$/, '必须是三个大写字母，例如 USD'],
]

export const paymentMessages: Texts = [
  [/^This payment method is not configured\.$/, '该支付方式未开通。'],
  [
    /^The payment provider cannot be reached: .* Order (\w+) is kept; repeat the call\.$/,
    '暂时无法连接支付渠道，订单 $1 已保留，请重试。',
  ],
  [/^The payment provider cannot be reached\. Try again\.$/, '暂时无法连接支付渠道，请稍后重试。'],
  [/^The payment is being processed\.$/, '付款处理中。'],
  [/^The order is paid\.$/, '订单已支付。'],
  [/^The order is (\w+)\.$/, '订单状态为 $1。'],
  [/^This order is already paid\.$/, '订单已支付。'],
  [/^This transaction was already entered for order (\w+)\.$/, '该流水号已用于订单 $1。'],
  [/^Another operator than (.+) must confirm this amount\.$/, '此金额须由 $1 以外的另一位管理员确认。'],
  [
    /^The first operator entered (.+) with transaction (.+)\.$/,
    '第一位管理员录入的金额为 $1，流水号为 $2，两次录入不一致。',
  ],
  [/^(.+) arrived, (.+) was ordered\. .*$/, '到账 $1，订单金额为 $2，请选择按到账金额入账或退回。'],
  [
    /^This client_key was already used for an order with another method or amount\.$/,
    '该请求已用于另一笔订单，请刷新页面后重试。',
  ],
  [/^This currency already has a rate from this time on\.$/, '该币种在此时间已有汇率。'],
  [/^Order not found\.$/, '订单不存在。'],
  [/^Difference not found\.$/, '差异不存在。'],
  [/^This payment was already credited\.$/, '该笔付款已入账。'],
  [/^This difference is resolved\.$/, '该差异已处理。'],
  [/^This action does not apply\. .*$/, '该操作不适用于此差异。'],
  [/^It names no order\.$/, '没有对应的订单。'],
  [/^Refund not found\.$/, '退款不存在。'],
  [/^This order is not paid\.$/, '订单尚未支付。'],
  [/^Nothing of this payment can go back\.$/, '该笔付款已无可退金额。'],
  [/^At most (.+) can go back\.$/, '最多可退 $1。'],
  [/^The balance was spent or held in the meantime\.$/, '余额在此期间已被使用或占用。'],
  [/^This refund is (\w+)\.$/, '该退款的状态为 $1。'],
  [/^Referral not found\.$/, '邀请记录不存在。'],
  [/^This referral is (\w+)\.$/, '该邀请的状态为 $1。'],
]
