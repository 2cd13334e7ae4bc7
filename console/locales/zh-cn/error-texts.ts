/** The messages of API errors, which are English, in Simplified Chinese: the field with its label, and what is wrong with it. */
import { channelReasons } from './channel-error-texts.ts'
import { priceReasons } from './price-error-texts.ts'

/** By the name of the field, or by its path without indexes if the name alone is ambiguous. */
const labels: Record<string, string> = {
  address: '地址',
  after_payment: '首次付款后的等级',
  amount: '金额',
  answer: '回复',
  base_url: '接口地址',
  body: '附加请求字段',
  cache_write: '缓存写入价格',
  cache_write_1h: '缓存写入（1 小时）价格',
  cached_input: '缓存命中输入价格',
  code: '代码',
  concurrency: '并发数',
  context_tokens: '上下文长度',
  count: '数量',
  credential: '凭证',
  credit_days: '有效天数',
  currency: '币种',
  current: '当前密码',
  daily: '每日消费上限',
  email: '邮箱',
  ends_at: '结束时间',
  expires_at: '到期时间',
  fallbacks: '备用模型',
  from: '开始时间',
  grace_hours: '宽限时间',
  headers: '附加请求头',
  health_check_ms: '健康检查间隔',
  id: '名称',
  input: '输入价格',
  invite: '邀请码',
  ips: 'IP 白名单',
  kind: '类型',
  label: '备注名',
  language: '语言',
  limits: '速率限制',
  low_balance: '余额提醒线',
  max_grants: '发放份数上限',
  max_output_tokens: '最大输出',
  message: '内容',
  model: '模型',
  models: '模型',
  monthly: '每月消费上限',
  name: '名称',
  note: '备注',
  notices: '通知内容',
  objective_percent: '可用性目标',
  opened_at: '开始时间',
  output: '输出价格',
  owned_by: '所属厂商',
  password: '密码',
  per_request: '每次请求价格',
  per_search: '每次联网搜索价格',
  price_factor: '价格系数',
  prices: '价格',
  priority: '优先级',
  promotion: '优惠码',
  provider: '供应商',
  proxy: '代理',
  rate: '汇率',
  reason: '原因',
  reasoning: '推理价格',
  routes: '路由',
  'routes.model': '上游模型',
  'routes.upstream': '上游',
  rpd: '每日请求数',
  rpm: '每分钟请求数',
  secret: '密钥',
  server: 'API 服务器',
  starts_at: '开始时间',
  status: '状态',
  text: '内容',
  tier: '等级',
  timeouts: '超时时间',
  'timeouts.answer_ms': '完整响应超时',
  'timeouts.connect_ms': '连接超时',
  'timeouts.first_token_ms': '首 Token 超时',
  'timeouts.idle_ms': '空闲超时',
  timezone: '时区',
  title: '标题',
  to: '结束时间',
  total: '累计消费上限',
  tpm: '每分钟 Token 数',
  uses: '使用次数上限',
  wanted: '申请的限制',
  weight: '权重',
}

type Texts = readonly (readonly [RegExp, string])[]

/** What is wrong with a field; follows its label. */
const reasons: [...Texts] = [
  [/^must not be empty$/, '不能为空'],
  [/^must have 1 to (\d+) characters$|^must be 1 to (\d+) characters$/, '必须为 1 到 $1$2 个字符'],
  [/^must have at most (\d+) characters(?: as JSON)?$/, '最多 $1 个字符'],
  [/^must have at most (\d+) entries$|^must be at most (\d+) names$/, '最多 $1$2 项'],
  [/^must be a list of at most (\d+) channel names$/, '最多 $1 个通知渠道'],
  [/^Too small: expected (?:string|array) to have >=1\b.*$/, '不能为空'],
  [/^Too small: expected (?:string|array) to have >=(\d+) (?:characters|items)$/, '至少 $1 个'],
  [/^Too big: expected string to have <=(\d+) characters$/, '最多 $1 个字符'],
  [/^Too big: expected array to have <=(\d+) items$/, '最多 $1 项'],
  [/^Too small: expected \w+ to be >=(-?[\d.]+)$/, '不能小于 $1'],
  [/^Too small: expected \w+ to be >(-?[\d.]+)$/, '必须大于 $1'],
  [/^Too big: expected \w+ to be <=(-?[\d.]+)$/, '不能大于 $1'],
  [/^expected (?:int|number), received .*$|^must be an integer$/, '必须是整数'],
  [/^expected string, received .*$/, '必须是文本'],
  [/^expected array, received .*$/, '必须是列表'],
  [/^expected \w+, received .*$/, '格式不正确'],
  [/^(?:Invalid option: expected|must be) one of (.+)$/, '必须是以下之一：$1'],
  [/^must be an integer from (\d+) to (\d+)$/, '必须是 $1 到 $2 之间的整数'],
  [/^must be (?:a number )?between ([\d.]+) and ([\d.]+)$/, '必须介于 $1 和 $2 之间'],
  [/^must be a non-negative integer(?: or null|, or null for unlimited)?$/, '必须是非负整数，或留空'],
  [/^must be a non-negative integer.* "unlimited".*$/, '必须是非负整数或 unlimited，或留空'],
  [/^must be a decimal number such as "0\.002"$/, '必须是数字，例如 0.002'],
  [/^must be a decimal number of at least 0$|^must not be negative$/, '不能为负数'],
  [/^must have at most (\d+) decimal places$/, '最多 $1 位小数'],
  [/^must be greater than 0$/, '必须大于 0'],
  [/^must not be 0$/, '不能为 0'],
  [/^is too large$/, '过大'],
  [/^must be a time such as .*$/, '必须是时间，例如 2026-11-21T08:00:00Z'],
  [/^must be in the future$/, '必须晚于当前时间'],
  [/^must not be in the future$/, '不能晚于当前时间'],
  [/^must not be in the future for the first price of a model$/, '模型的首个价格不能晚于当前时间生效'],
  ...priceReasons,
  [/^must be an integer of at least (\d+)$/, '必须是不小于 $1 的整数'],
  [/^must be after starts_at$/, '必须晚于开始时间'],
  [/^must be before `to`$/, '必须早于结束时间'],
  [/^must be (?:an|one) e-mail address$/, '必须是有效的邮箱地址，例如 name@example.com'],
  [/^must be an IANA time zone such as .*$/, '必须是 IANA 时区名称，例如 Asia/Shanghai'],
  [/^must be an existing tier$/, '必须是已有的等级'],
  [/^must be a known provider$/, '必须是支持的供应商'],
  [/^must be three capital letters such as "USD"$/, '必须是三个大写字母，例如 USD'],
  [/^must be the upstream's name for the model$/, '必须填写该模型在上游的名称'],
  [/^must be a model name, with "\*" only at its end$/, '必须是模型名称，“*”只能放在末尾'],
  [/^must be an address or a CIDR such as .*$/, '必须是 IP 地址或 CIDR，例如 10.0.0.0/8'],
  [/^is the model itself$/, '不能是该模型自身'],
  [/^was not found$/, '不存在'],
  [/^is a duplicate$/, '有重复'],
  [/^is set by the relay$/, '由中继设置，不能填写'],
  [/^must have valid header names$/, '中有无效的名称'],
  [/^is required, or \{"free": true\}$/, '为必填项，也可设为免费'],
  [/^cannot be combined with "free"$/, '不能与“免费”同时填写'],
  [/^cannot be combined with `from` or `to`$/, '不能与开始时间或结束时间同时填写'],
  [/^must name at least one (?:limit|operation)$/, '至少填写一项'],
  [/^must contain text in at least one language$/, '至少填写一种语言'],
  [/^must be a list of at most (\d+) names of fields$/, '必须是字段名列表，最多 $1 个'],
  [/^must consist of letters, digits, "\.", "_" and "-"$/, '只能包含字母、数字、“.”、“_”和“-”'],
  [/^must consist of lower-case letters, digits, "-" and "_"$/, '只能包含小写字母、数字、“-”和“_”'],
  [
    /^must consist of lower-case letters, .* must not be "email"$/,
    '只能包含小写字母、数字、“-”和“_”，且不能是 email',
  ],
  [/^must consist of letters, digits and \. _ .*$/, '只能包含字母、数字和 . _ : / @ + -，并以字母或数字开头'],
  [/^must have 1 to 40 letters, digits, "-" or "_"$/, '必须为 1 到 40 个字母、数字、“-”或“_”'],
  [/^must not contain control characters$|^must be well-formed Unicode without U\+0000$/, '含有无效字符'],
  [
    /^contains a line break or another invalid character; paste it again$/,
    '含有换行或其他无效字符，请重新粘贴',
  ],
  ...channelReasons,
  [/^must be an address that begins with http.*$/, '必须以 http:// 或 https:// 开头'],
  [
    /^must not contain a user name, a query or a fragment; .*$/,
    '不能包含用户名、查询参数或片段，密钥请填入“凭证”',
  ],
  [/^must be a URL such as http:\/\/proxy\.example:3128$/, '必须是网址，例如 http://proxy.example:3128'],
  [/^must begin with http:.*$/, '必须以 http://、https://、socks5:// 或 socks5h:// 开头'],
  [/^must consist of a host and a port, without a path$/, '只能包含主机和端口，不能包含路径'],
  [/^must have a percent-encoded user name and password$/, '中的用户名和密码必须经过百分号编码'],
  [/^must have a user name and password of at most (\d+) bytes each$/, '中的用户名和密码各最多 $1 字节'],
]

/** Messages that name no field. */
const messages: [...Texts] = [
  [/^Invalid request\.$/, '请求参数无效。'],
  [/^This conflicts with an existing resource\.$/, '与现有内容冲突。'],
  [/^The address must not contain spaces, .*$/, '地址不能包含空格、反斜杠或控制字符。'],
  [/^The address is not a URL\.$/, '地址不是有效的网址。'],
  [/^The address must begin with http.*$/, '地址必须以 https:// 或 http:// 开头。'],
  [/^The address must not contain a user name or a password\.$/, '地址不能包含用户名或密码。'],
  [
    /^The (?:address|name) (\S+) (?:is|means) .*, which is not allowed\..* private addresses in (\w+)\.$/,
    '不允许使用地址 $1。如需使用内网地址，请管理员在 $2 中设置。',
  ],
  [/^The (?:address|name) (\S+) (?:is|means) .*, which is not allowed\.$/, '不允许使用地址 $1。'],
  [/^An account with this e-mail address already exists\.$/, '该邮箱已有账户。'],
  [/^A user with this e-mail address already exists\.$/, '该邮箱已被使用。'],
  [/^A model with this id already exists\.$/, '已有同名模型。'],
  [/^An upstream with this name already exists\.$/, '已有同名上游。'],
  [/^A promotion with this code already exists\.$/, '该优惠码已被使用。'],
  [/^A (?:channel|tier) named "(.+)" already exists\.$/, '名称“$1”已被使用。'],
  [/^Models still have routes to this upstream: (.+)\.$/, '以下模型仍有路由使用该上游：$1。请先移除路由。'],
  [/^Models still have routes to this upstream\.$/, '仍有模型的路由使用该上游，请先移除路由。'],
  [
    /^The (?:upstream|key) was changed (?:at the same time|by another request)\. Try again\.$/,
    '内容刚被他人修改，请重试。',
  ],
  [/^An account may hold at most (\d+) keys\. Delete one first\.$/, '每个账户最多 $1 个密钥，请先删除一个。'],
  [/^At most (\d+) channels are allowed\. Delete one first\.$/, '最多 $1 个通知渠道，请先删除一个。'],
  [/^An upstream can have at most (\d+) additional credentials\.$/, '每个上游最多添加 $1 个凭证。'],
  [/^This is the upstream’s own credential\. .*$/, '这是上游的主凭证，请在上游设置中修改。'],
  [/^You already have (\d+) passkeys\. Delete one first\.$/, '最多 $1 个通行密钥，请先删除一个。'],
  [/^This passkey is already registered\.$/, '该通行密钥已添加。'],
  [/^The passkey could not be verified\.$/, '通行密钥验证失败，请重试。'],
  [/^This passkey belongs to another user\.$/, '该通行密钥属于其他用户。'],
  [/^An authenticator app is already set up\.$/, '已设置身份验证器应用。'],
  [/^No authenticator app is set up\.$/, '尚未设置身份验证器应用。'],
  [/^Incorrect password\.$/, '密码错误。'],
  [/^You have no password\. .*$/, '您尚未设置密码，请使用通行密钥，或先在“登录与安全”中设置密码。'],
  [/^The password must have at least (\d+) characters\.$/, '密码至少 $1 个字符。'],
  [/^The password must have at most (\d+) characters\.$/, '密码最多 $1 个字符。'],
  [/^This password is too easy to guess\. Choose another one\.$/, '该密码过于常见，请换一个。'],
  [/^Too many attempts\. Try again in a few minutes\.$/, '尝试次数过多，请几分钟后再试。'],
  [
    /^The balance does not cover several requests for this model at once: try again when the other one has ended\.$/,
    '余额不足以同时运行该模型的多个请求，请等其他请求结束后再试。',
  ],
  [/^E-mail is not configured\. Ask an operator for a link\.$/, '未配置邮件，请联系管理员获取链接。'],
  [
    /^You cannot change anything while you impersonate an account\. .*$/,
    '以客户身份查看时不能修改内容，请先退出。',
  ],
  [/^A limit request is already open\. Wait for its answer\.$/, '已有待处理的提额申请，请等待答复。'],
  [/^This (?:limit )?request (?:was already|has already been) answered\.$/, '该申请已答复。'],
  [/^At most (\S+) can be taken back\.$/, '最多可扣减 $1。'],
  [/^At most (\S+) of this request can be refunded\.$/, '该请求最多可退还 $1。'],
  [/^The balance would exceed the maximum\.$/, '余额将超过上限。'],
  [
    /^This `?idempotency_key`? was already used with a different amount\.$/,
    '该操作已提交过，但金额不同，请刷新后重试。',
  ],
  [/^The file system of BACKUP_DIR does not respond\.$/, '备份目录所在的文件系统没有响应。'],
  [/^Another backup is being made or checked\. .*$/, '另一个备份正在创建或校验，请等待完成。'],
  [
    /^Specify a model of the upstream: no model has a route to it\.$/,
    '请填写上游的模型名称：尚无模型路由到该上游。',
  ],
  [/^This provider has no default\.$/, '该供应商没有默认接口地址，请填写接口地址。'],
  [/^Range too long: at most .*$/, '时间范围过长，请缩短。'],
  [/^Invalid cursor for this list\.$/, '列表已更新，请刷新页面。'],
  [/^Price list not found\. Available: (.+)\.$/, '没有该价目库。可用：$1。'],
  [/^status, enabled and disabled contradict each other\.$/, '状态设置互相矛盾。'],
  [
    /^(?:Account|Announcement|Backup|Channel|Credential|Incident|Invite|Key|Limit request)\b.* not found\.$/,
    '未找到该内容。',
  ],
  [/^(?:Model|Promotion|Request|Tier|Upstream|User|Voucher) not found\.$/, '未找到该内容。'],
]

function replaceFirst(texts: Texts, text: string): string {
  const found = texts.find(([pattern]) => pattern.test(text))
  return found === undefined ? '' : text.replace(...found)
}

/** `routes[0].model` → 上游模型; a field without a label keeps its name. */
function labelOf(param: string): string {
  const path = param.replaceAll(/\[\d+\]/g, '')
  const name = path.slice(path.lastIndexOf('.') + 1)
  const index = /\[(\d+)\]/.exec(param)?.[1]
  const label = labels[path] ?? labels[name] ?? param
  return index === undefined ? label : `${label}（第 ${Number(index) + 1} 项）`
}

const missing = /^Missing required field: ([^.\s]+(?:\.\w+)*)\.(?: (.+))?$/
const ofField = /^(?:Invalid (?:`([^`]+)`|amount): |([\w.[\]]+):? (?=\p{Ll}|The ))(.+?)\.?$/u

interface ErrorTexts {
  readonly labels: Readonly<Record<string, string>>
  readonly reasons: Texts
  readonly messages?: Texts
}

/** Adds the texts of pages that are loaded later: the sign-in page does not need them. */
export function addErrorTexts({ labels: added, ...texts }: ErrorTexts): void {
  Object.assign(labels, { ...added, ...labels })
  reasons.unshift(...texts.reasons)
  messages.unshift(...(texts.messages ?? []))
}

/** An empty string for a message that is not known. */
export function translateError(message: string): string {
  const whole = replaceFirst(messages, message)
  if (whole !== '') return whole
  const required = missing.exec(message)
  if (required !== null)
    return replaceFirst(messages, required[2] ?? '') || `请填写${labelOf(required[1] ?? '')}。`
  const [, quoted, named, reason] = ofField.exec(message) ?? []
  if (reason === undefined) return ''
  const ofAddress = replaceFirst(messages, `${reason}.`)
  if (ofAddress !== '') return ofAddress
  const text = replaceFirst(reasons, reason)
  return text === '' ? '' : `${labelOf(quoted ?? named ?? 'amount')}${text}。`
}
