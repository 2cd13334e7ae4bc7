/** The customer's manual. Simplified Chinese. */
import type { guide as english } from '../en/guide.ts'

export const guide: typeof english = {
  title: '使用指南',
  lead: '从第一次调用到密钥安全。',
  contents: '目录',
  anyModel: '模型名称',
  first: {
    title: '第一次调用',
    text: [
      '在“密钥”页创建密钥并复制：它只显示一次。然后在任何 OpenAI 格式的客户端中修改两处：接口地址与密钥。',
      '本服务的接口地址：',
    ],
  },
  stream: {
    title: '流式输出',
    text: [
      '设置 "stream": true 后，应答以 SSE 逐段返回。某些片段可能没有内容，拼接前请先判断。流以 "data: [DONE]" 结束。',
      '设置 stream_options.include_usage 可获取用量：结束前的最后一段会给出词元数与费用。如果您关闭连接，请求随即结束，只收取已交付部分的费用。',
    ],
  },
  errors: {
    title: '错误与处理',
    text: [
      '所有错误格式相同：{"error": {"message", "type", "param", "code"}}。每个应答都带有 x-request-id，可提供给客服，也可在“用量”页查询。',
    ],
    status: '状态码',
    code: '代码',
    meaning: '含义',
    whatToDo: '处理方法',
    table: [
      {
        status: 400,
        code: 'invalid_request',
        meaning: '某个字段有误，由“param”指出。',
        whatToDo: '修正请求，重试无济于事。',
      },
      {
        status: 401,
        code: 'invalid_api_key',
        meaning: '密钥缺失、有误、已删除或已过期。',
        whatToDo: '检查密钥，必要时新建。',
      },
      {
        status: 402,
        code: 'insufficient_quota',
        meaning: '余额不足以支付此请求。',
        whatToDo: '在“账单与充值”页充值。',
      },
      {
        status: 402,
        code: 'spend_cap_exceeded',
        meaning: '密钥或账户达到消费上限。',
        whatToDo: '提高上限，或等到次日或次月。',
      },
      {
        status: 403,
        code: 'model_not_allowed',
        meaning: '此密钥不可调用该模型。',
        whatToDo: '在“密钥”页修改其模型范围。',
      },
      { status: 404, code: 'model_not_found', meaning: '没有这个模型。', whatToDo: '使用“模型”页中的名称。' },
      {
        status: 429,
        code: 'rate_limit_exceeded',
        meaning: '请求或词元暂时过多。',
        whatToDo: '按 Retry-After 等待后重试。',
      },
      {
        status: 500,
        code: 'server_error',
        meaning: '我方出现错误。',
        whatToDo: '稍候重试一两次，并反馈请求编号。',
      },
      {
        status: 503,
        code: 'upstream_unavailable',
        meaning: '此模型暂无可用的上游。',
        whatToDo: '按 Retry-After 重试，或改用其他模型。',
      },
    ],
  },
  retries: {
    title: '重试',
    text: [
      '官方客户端会自动重试 429 与 5xx。如果 x-should-retry 为 false（例如余额用尽），请不要重试。',
      '为每次调用设置独立的 Idempotency-Key，重试时保持不变：只应答一次、只扣费一次，重试会得到相同的应答。',
    ],
  },
  limits: {
    title: '限额',
    text: [
      '请求与词元按分钟计数，请求还按天计数，同时进行的数量也有限。剩余额度见每个应答的 x-ratelimit-* 标头；您的限额见“限额”页，也可在那里申请提高。',
      '每日与每月的消费上限达到后服务停止；达到 80 % 与达到上限时会通知您。',
    ],
  },
  prices: {
    title: '词元与价格',
    text: [
      '按每千词元计费，输入与输出分别计价，价目见“模型”页。一个词元约为四个英文字符，或一个半到两个汉字。以供应商的计数为准，见每个应答的“usage”。',
      '请求前先冻结可能的最高费用，之后只扣除实际费用。完整应答在 x-sluice-cost 标头中给出费用。通过接口查询余额：',
    ],
  },
  safety: {
    title: '密钥安全',
    text: [
      '密钥就是钱。不要把它放进网页、应用或公开的代码仓库：应由您自己的服务器保管，让用户访问您的服务器。',
      '为每个应用使用单独的密钥并设每日上限；来源地址已知时再设地址范围。请定期轮换：旧密钥会继续有效一段时间，业务不会中断。如有泄露请立即删除，一秒内处处生效。',
    ],
  },
  apps: {
    title: '常用应用',
    text: ['供应商选择“OpenAI”或“OpenAI 兼容”，填写地址与密钥。部分应用的地址不带 /v1。'],
    app: '应用',
    where: '位置',
    address: '地址',
  },
}
