/** The customer's guide. Simplified Chinese. */
import type { guide as english } from '../en/guide.ts'

export const guide: typeof english = {
  title: '使用指南',
  lead: '从首次调用到密钥安全。',
  contents: '目录',
  anyModel: '模型名称',
  first: {
    title: '首次调用',
    text: [
      '在“API 密钥”页创建密钥并复制，密钥仅显示一次。然后在任意兼容 OpenAI 接口的客户端中修改两项：接口地址和 API 密钥。',
      '本服务的接口地址：',
    ],
  },
  stream: {
    title: '流式输出',
    text: [
      '设置 `"stream": true` 后，响应以 SSE 分块返回。部分数据块可能没有内容，拼接前请先判断。流以 `data: [DONE]` 结束。',
      '设置 `stream_options.include_usage` 后，最后一个数据块会返回 Token 用量和费用。如果您主动断开连接，请求将被取消，仅收取已输出部分的费用。',
    ],
  },
  errors: {
    title: '错误处理',
    text: [
      '所有错误格式一致：`{"error": {"message", "type", "param", "code"}}`。每次响应都带有 `x-request-id`，可提供给客服，也可在“用量”页查询。',
    ],
    status: '状态码',
    code: '错误码',
    meaning: '含义',
    whatToDo: '处理方法',
    table: [
      {
        status: 400,
        code: 'invalid_request',
        meaning: '参数无效，字段名见错误中的 `param`。',
        whatToDo: '修正请求，不要原样重试。',
      },
      {
        status: 401,
        code: 'invalid_api_key',
        meaning: '密钥缺失、错误、已删除或已过期。',
        whatToDo: '检查密钥，或创建新密钥。',
      },
      {
        status: 402,
        code: 'insufficient_quota',
        meaning: '余额不足。',
        whatToDo: '在“账单与充值”页充值。',
      },
      {
        status: 402,
        code: 'spend_cap_exceeded',
        meaning: '密钥或账户已达到消费上限。',
        whatToDo: '提高消费上限，或等待次日或次月恢复。',
      },
      {
        status: 403,
        code: 'model_not_allowed',
        meaning: '该密钥无权调用此模型。',
        whatToDo: '请在“API 密钥”页修改该密钥的可用模型。',
      },
      {
        status: 403,
        code: 'address_not_allowed',
        meaning: '来源 IP 不在该密钥的白名单中。',
        whatToDo: '请在“API 密钥”页修改该密钥的 IP 白名单。',
      },
      { status: 403, code: 'account_suspended', meaning: '该账户已停用。', whatToDo: '请联系服务运营方。' },
      { status: 404, code: 'model_not_found', meaning: '模型不存在。', whatToDo: '使用“模型”页中的名称。' },
      {
        status: 429,
        code: 'rate_limit_exceeded',
        meaning: '请求数或 Token 数超出速率限制。',
        whatToDo: '按 `Retry-After` 等待后重试。',
      },
      {
        status: 500,
        code: 'server_error',
        meaning: '服务器内部错误。',
        whatToDo: '间隔重试一两次，仍失败请反馈请求 ID。',
      },
      {
        status: 503,
        code: 'upstream_unavailable',
        meaning: '该模型暂时不可用。',
        whatToDo: '按 `Retry-After` 等待后重试，或换用其他模型。',
      },
    ],
  },
  retries: {
    title: '重试',
    text: [
      '官方客户端会自动重试 429 和 5xx。如果 `x-should-retry` 为 false（例如余额不足），请勿重试。',
      '请为每次请求设置唯一的 `Idempotency-Key`，重试时保持不变：请求只处理一次、只扣费一次，重试返回相同的响应。',
    ],
  },
  limits: {
    title: '速率限制与消费上限',
    text: [
      '限制包括每分钟和每日请求数、每分钟 Token 数以及并发数。剩余额度见每次响应的 `x-ratelimit-*` 响应头。可在“速率限制”页查看您的速率限制或申请提额。',
      '达到每日或每月消费上限后，请求将被拒绝。达到 50%、80% 和 100% 时会发送通知。',
    ],
  },
  prices: {
    title: 'Token 与价格',
    text: [
      '按每千 Token 计费，输入与输出分别计价，价格见“模型”页。1 个 Token 约等于 4 个英文字符或 1.5 至 2 个汉字。以供应商的计数为准，见每次响应的 `usage` 字段。',
      '请求前先冻结可能的最高费用，结束后仅扣除实际费用。非流式响应在 `x-sluice-cost` 响应头中返回费用。通过接口查询余额：',
    ],
  },
  safety: {
    title: '密钥安全',
    text: [
      '密钥泄露就等于资金泄露。请勿将其写入网页、客户端应用或公开的代码仓库，应保存在您自己的服务器上，由服务器代用户调用。',
      '请为每个应用使用独立的密钥并设置每日消费上限；若来源 IP 固定，建议同时设置 IP 白名单。建议定期轮换密钥：旧密钥在宽限期内继续有效，业务不中断。如有泄露请立即删除，1 秒内全局生效。',
    ],
  },
  apps: {
    title: '常用应用',
    text: ['在应用中选择供应商“OpenAI”或“OpenAI 兼容”，然后填写接口地址和密钥。部分应用的地址不带 `/v1`。'],
    app: '应用',
    where: '设置位置',
    address: '接口地址',
  },
}
