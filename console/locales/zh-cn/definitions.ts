/** What each number means: its window and what counts. Shown in tooltips; docs/console.md states the same. Simplified Chinese. */

const anyOutcome = '不论结果如何'
const failedRule =
  '包括被拒绝、失败、响应截断和被平台中止的请求，不论原因在哪一方；不含客户端主动断开的请求。'
const last24Hours = '当前小时及之前 23 个小时内'
const admitted = '按请求到达时间计入；退款不影响此金额。'
const successRule =
  '不计入：客户端错误，因余额、消费上限或速率限制被拒绝的请求，以及客户端主动断开的请求。按请求结束时间计入，结果向下取整。'

export const definitions = {
  balance: '截至当前的全部入账减去全部扣费，包含冻结金额。',
  held: '进行中的请求最多可能产生的费用。请求扣费后即解除冻结。',
  available: '新请求可使用的金额：余额与剩余消费上限中的较小者，减去冻结金额。',
  spentToday: `账户所在时区当日零点以来的扣费。${admitted}`,
  spentMonth: `账户所在时区当月 1 日以来的扣费。${admitted}`,
  cost: `所选时间范围内请求的扣费。${admitted}`,
  cost30: `最近 30 天（含今日）的扣费，按账户所在时区的自然日统计。${admitted}`,
  charges: `账户所在时区当月请求的扣费。${admitted}`,
  requests: `所选时间范围内收到的全部请求，${anyOutcome}。被拒绝或失败${failedRule}`,
  requestsToday: `账户所在时区当日零点以来收到的全部请求，${anyOutcome}。被拒绝或失败${failedRule}`,
  requests24: `${last24Hours}收到的全部请求，${anyOutcome}。`,
  failed: failedRule,
  failed24: `${last24Hours}收到的请求中被拒绝或失败的请求数，${failedRule}`,
  success24: `${last24Hours}，成功响应数 ÷ 收到的请求数。${successRule}`,
  successMonth: `本自然月（UTC），成功响应数 ÷ 收到的请求数。${successRule}`,
  failedMonth:
    '本自然月（UTC）内因平台或供应商原因失败的请求数。不计入：客户端错误，因余额、消费上限或速率限制被拒绝的请求，以及客户端主动断开的请求。',
  succeededMonth: '本自然月（UTC）内完整响应的请求数。',
  errorBudget: '本月服务故障请求数 ÷ 目标允许的服务故障请求数。超过 100% 即未达标。',
  balances: '所有账户的当前余额合计，包含冻结金额。',
  revenueToday: `仪表盘时区当日零点以来向全部客户收取的费用。${admitted}`,
  revenue24: `${last24Hours}向全部客户收取的费用。${admitted}`,
  revenue30: `最近 30 天（含今日，按仪表盘时区）向全部客户收取的费用。${admitted}`,
  revenueMonth: `仪表盘时区当月 1 日以来向全部客户收取的费用。${admitted}`,
  operatorRequestsToday: `仪表盘时区当日零点以来收到的全部请求，${anyOutcome}。速率为最近一分钟的平均值。`,
  requestsMonth: `仪表盘时区当月 1 日以来收到的全部请求，${anyOutcome}。`,
  requests30: `最近 30 天（含今日，按仪表盘时区）收到的全部请求，${anyOutcome}。被拒绝或失败${failedRule}`,
  received: `所选时间范围内收到的全部请求，${anyOutcome}；选择模型后仅统计该模型，不区分上游。`,
  failureRate: `被拒绝或失败的请求数 ÷ 请求数，${failedRule}成功率不计入客户端错误和被拒绝的请求，因此两者之和不等于 100%。`,
  failureShare: '本行请求数 ÷ 该模型在所选时间范围内的全部请求数。',
  share24: `本行请求数 ÷ ${last24Hours}收到的全部请求数。`,
  attempts: '最近一分钟内对该上游的调用次数。一个请求可能调用多个上游，或多次调用同一上游。',
  attemptErrors: '最近一分钟内失败的调用 ÷ 对该上游的全部调用，不含客户端错误。',
}
