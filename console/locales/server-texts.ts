/**
 * Texts that the server writes in English and stores, such as why a circuit is open or the title of an automatic
 * incident, in Chinese. Texts of people, and those that are not listed, stay as they are.
 */

const texts: Readonly<Record<string, string>> = {
  // Why a circuit is open.
  'Rate limited.': '触发上游限流。',
  'Out of credit.': '上游账户余额不足。',
  'The upstream rejects the credential.': '上游拒绝了该凭证。',
  'The upstream does not allow this model for the credential (403).': '上游不允许该凭证使用此模型（403）。',
  'The upstream could not be reached in time.': '连接上游超时。',
  'The upstream did not respond in time.': '上游响应超时。',
  'The provider did not respond in time.': '供应商响应超时。',
  'The upstream stopped sending.': '上游中断了输出。',
  'The upstream did not send a valid HTTP response.': '上游返回的 HTTP 响应无效。',
  'The address of the upstream is not allowed.': '不允许访问该上游地址。',
  'The request was canceled.': '请求已取消。',
  'The stream ended before it was complete.': '流式响应未完成即中断。',
  'The stream of the provider was empty.': '供应商的流式响应为空。',
  'The stream of the provider could not be parsed.': '无法解析供应商的流式响应。',
  'The stream of the provider has too much data before its first content.':
    '供应商的流式响应在首个内容前数据过多。',
  'The response of the provider is too large.': '供应商的响应过大。',
  'The response of the provider could not be parsed.': '无法解析供应商的响应。',
  'The response of the provider could not be decoded.': '无法解码供应商的响应。',
  'The response of the provider does not have the expected format.': '供应商的响应格式不符合预期。',
  'The provider sent no access token.': '供应商未返回访问令牌。',
  'The response is not a list of models.': '响应中没有模型列表。',
  'The upstream responded.': '上游已响应。',
  // Why a notification was not delivered.
  'No mail server is configured (SMTP_URL).': '未配置邮件服务器（SMTP_URL）。',
  // Providers.
  'OpenAI-compatible (custom URL)': 'OpenAI 兼容接口（自定义地址）',
  'Qwen (Alibaba Cloud Model Studio)': '通义千问（阿里云百炼）',
  'Moonshot (Kimi)': '月之暗面（Kimi）',
  'Zhipu (GLM)': '智谱（GLM）',
  'Doubao (Volcengine Ark)': '豆包（火山方舟）',
  'ERNIE (Baidu Qianfan)': '文心一言（百度千帆）',
  'Hunyuan (Tencent)': '腾讯混元',
  SiliconFlow: '硅基流动',
  'Demonstration (writes deterministic text)': '演示（生成固定文本）',
  // Why a model cannot be called.
  'The key is not allowed to use this model.': '该密钥无权使用此模型。',
  'No enabled upstream serves this model.': '没有已启用的上游提供此模型。',
  // Automatic incidents.
  'Requests to this model are failing more often than its objective allows. We are investigating.':
    '该模型的失败率超出可用性目标，正在排查。',
  'Requests to this model are failing again.': '该模型的请求再次出现失败。',
  'This model has recovered.': '该模型已恢复。',
  'There have been no requests to this model for a while, and therefore no failures.':
    '该模型已有一段时间没有请求，因此没有失败。',
  'The service is rejecting requests. We are investigating.': '服务无法受理请求，正在排查。',
  'The service is rejecting requests again.': '服务再次无法受理请求。',
  'The service is accepting requests again.': '服务已恢复受理请求。',
  'There have been no requests for a while, and therefore no failures.':
    '已有一段时间没有请求，因此没有失败。',
  'Relay API: requests are rejected': 'API 服务：无法受理请求',
}

/** Why balances changed, besides what people write. */
const reasons: readonly (readonly [RegExp, string])[] = [
  [/^Recharge (S\w+)$/, '订单 $1'],
  [/^Refund (S\w+) was not made$/, '退款 $1 未成功，金额已退回余额'],
  [/^Refund (S\w+)$/, '退款 $1'],
  [/^Dispute (\S+)$/, '拒付 $1'],
  [/^Referral$/, '邀请奖励'],
  [/^Referral: the payment went back$/, '邀请奖励：对应的付款已退回'],
]

const patterns: readonly (readonly [RegExp, string])[] = [
  ...reasons,
  [/^(.+): requests are failing$/, '$1：请求失败'],
  [/^There is no rate from (\w+) to (\w+)\.$/, '缺少 $1 到 $2 的汇率。'],
  [/^The connection to the upstream failed \((.+)\)\.$/, '连接上游失败（$1）。'],
  [/^The proxy could not reach the upstream: (.+)\.$/, '代理无法连接上游：$1。'],
  [/^(.+) does not offer a list of models here\.$/, '$1 在此处不提供模型列表。'],
  [/^ENOTFOUND: getaddrinfo \w+ (\S+)$/, '无法解析域名 $1。'],
  [/^(ECONN\w+|ETIMEDOUT|E\w+UNREACH): .*?([\w.:[\]-]+)$/, '连接失败（$1，$2）。'],
  [/^Error: \w+, status (\d+)\.$/, '上游返回错误，状态码 $1。'],
]

export function toChinese(text: string): string {
  const exact = texts[text]
  if (exact !== undefined) return exact
  const pattern = patterns.find(([each]) => each.test(text))
  return pattern === undefined ? text : text.replace(...pattern)
}
