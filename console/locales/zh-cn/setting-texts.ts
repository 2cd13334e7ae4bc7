/** What each setting does, and its default where that is a sentence, in Simplified Chinese. Code is in backticks. */

/** By environment variable. */
export const settingDocs: Readonly<Record<string, string>> = {
  RESPONSE_ITEMS_TTL:
    'Responses API 响应内容项自最后一次使用起的加密保留时间，供以 id 引用（`item_reference`）而不重新发送的客户端使用；每个账户最多 32 MiB。带有 `store: false` 的请求不保留任何内容。`0s` 表示不保留。',
  CONFIRM_ABOVE:
    '管理员在控制台充值、扣款或创建总额超过此金额的兑换码前，需再次验证密码或通行密钥。以平台币种计。',
  WRITES_PER_MINUTE:
    '一个账户的控制台会话每分钟最多可做的更改次数，所有节点合计。管理员和管理接口不受此限制。',
  BODY_TIMEOUT: '请求体须在此时间加上每 16 KiB 一秒之内到达，且停顿不得超过此时间的两倍，否则返回 400。',
  OPEN_ORDERS: '一个账户的用户最多可有多少个未支付订单。管理员、管理接口和自动充值的订单不计入。',
  ORDERS_PER_HOUR:
    '一个账户的用户每小时用同一支付方式最多可创建多少个订单，已结束的也计入。管理员、管理接口和自动充值的订单不计入。',
  HOST: '监听地址。`0.0.0.0` 或 `::` 表示所有网卡。',
  PORT: '监听端口。',
  TLS_CERT_FILE: 'TLS 证书及证书链（PEM）。与私钥一起设置后，端口提供 HTTPS。文件变化时自动重新加载。',
  TLS_KEY_FILE: '证书的私钥（PEM）。',
  PUBLIC_URL: '本服务对外的访问地址，展示给用户。',
  PUBLIC_URLS: '本服务对外的全部访问地址，主地址在前。展示给用户，并按 `PUBLIC_URL_CHECK` 的间隔检查。',
  TRUST_PROXY: '本服务前方可信代理的地址。仅信任来自这些地址的 `X-Forwarded-For`，密钥的 IP 白名单依赖此项。',
  CORS_ORIGINS:
    '允许在浏览器中调用 `/v1` 的网页来源，或 `*`。默认关闭：在网页中直接调用会把密钥暴露给所有访问者，任何人都能消费其余额，建议由您的后端转发。',
  DATA_DIR: '内置数据库及其密钥的目录；集群节点在此存放尚未上传的数据。同一时间只能由一个服务使用。',
  DATABASE_URL:
    '集群使用的 PostgreSQL 数据库（13 及以上），设置后本服务成为其中一个节点。默认单机运行，数据存放在 `DATA_DIR`。',
  REDIS_URL: '集群节点用于共享速率限制的 Redis 或 Valkey。未设置或不可用时，每个节点按份额执行限制。',
  SLOT_LEASE:
    '节点被强制终止且未重启或退役时，其进行中的请求在 Redis 中继续占用并发数的时间。正常节点在此期间会续期三次。',
  NODE_RETIRE_AFTER:
    '集群节点多久没有心跳即被其他节点退役：其请求被结束，占用的余额随之释放；节点恢复后会自动重新加入。所有节点应使用相同的值；默认值足以覆盖虚拟机的短暂暂停或迁移。',
  ENCRYPTION_KEY:
    '用于加密“上游凭证的加密密钥”。未设置时，首次启动会在 `DATA_DIR` 中创建密钥文件；集群则存放在数据库中，与凭证在一起。无论使用哪种方式，都请备份密钥，并与数据分开存放。',
  ENCRYPTION_KEY_PREVIOUS:
    '轮换加密密钥期间填写旧的 `ENCRYPTION_KEY`，直到 `sluice rotate-key` 提示可以移除。',
  REQUEST_RETENTION:
    '单条请求记录的保留时间，例如 `90d`，过期后在后台删除。余额、账本、扣费和汇总统计不受影响。`0s` 表示永久保留。',
  BACKUP_DIR:
    '控制台、管理接口和 `BACKUP_EVERY` 所创建备份的目录。请与 `DATA_DIR` 使用不同的磁盘；集群节点需要共享目录。',
  BACKUP_EVERY:
    '自动备份的间隔，例如 `1d`，从最新一份备份算起。`0s` 表示不自动备份。集群的所有节点都要设置，由其中一个执行。失败时通知管理员。',
  BACKUPS_KEPT: '保留的自动备份份数，更早的会被删除。手动备份不会被删除。',
  ADMIN_API_KEY: '脚本调用管理接口 `/api/admin` 使用的密钥。未设置时，管理接口仅接受管理员的控制台会话。',
  SIGN_UP: '谁可以在控制台注册：所有人、持有管理员邀请码的人，或不开放。',
  SMTP_URL:
    '邮件服务器，例如 `smtps://user:password@mail.example:465`。设置后，注册时验证邮箱，并可通过邮件重置密码；未设置时账户立即可用，由管理员发放重置链接。',
  MAIL_FROM: '本服务所发邮件的发件人。',
  STALE_KEYS: '密钥超过此时间未使用，控制台将其标记为闲置。',
  DELETE_STALE_KEYS: '密钥超过此时间未使用即被删除。`0s` 表示从不删除。',
  KEYS_PER_ACCOUNT: '每个账户的密钥数上限。',
  FREE_ABORTS_PER_HOUR:
    '每个账户在 60 分钟内可在首个内容返回前取消且不扣费的请求数，按节点计算。超出后，若上游已返回 2xx，则按估算的输入扣费。',
  BODY_LIMIT: '请求体的大小上限，超过则以 413 拒绝。',
  BODIES_LIMIT:
    '每个工作线程在内存中保存的请求体总大小上限。单个账户最多占八分之一（或一个 `BODY_LIMIT`，取较大值），超过返回 429；总量超过时其他请求返回 503。另有八分之一保留给小于 64 KiB 的请求体。建议至少为 `BODY_LIMIT` 的八倍。',
  ANSWER_LIMIT: '上游的非流式响应或单个流式事件的大小上限。',
  SLOW_CLIENT_TIMEOUT: '客户端在此时间内未读取待发送的响应，连接将被断开，并按已接收的内容扣费。',
  CONNECTIONS_PER_ADDRESS:
    '每个工作线程中，单个客户端地址（或 IPv6 /64 网段）的最大连接数，超出的连接立即关闭。本机地址和 `TRUST_PROXY` 不受限。所有工作线程的连接总数不超过系统允许进程打开文件数的一半。',
  UPSTREAM_ALLOW: '上游可使用的内网地址，用于自建模型。其他内网地址在保存上游和建立连接时都会被拒绝。',
  STREAM_KEEP_ALIVE: '流式响应无数据时，每隔此时间发送一条注释，避免中间代理断开连接。',
  AVAILABILITY_OBJECTIVE: '可用性目标：每个模型每月有效请求中必须成功的百分比。模型可单独设置。',
  INCIDENT_WINDOW: '评估模型成功率的时间窗口，流量较低时为十倍。低于目标时自动生成故障记录。',
  INCIDENT_MINIMUM: '触发故障的最少失败次数。',
  INCIDENT_RECOVERY: '模型恢复正常持续多久后，故障自动关闭。',
  PUBLIC_URL_CHECK: '检查 `PUBLIC_URLS` 中每个地址的间隔。',
  PUBLIC_PRICES:
    '公开价格页 `/pricing` 及 `/pricing.json`：已上架模型及其当前价格，不含等级和账户的价格系数。',
  STATUS_PAGE:
    '公开状态页 `/status`，以及 `/status.json` 和 `/status.rss`：已上架模型的状态、最近 90 天记录和故障。',
  NOTICE_LANGUAGE:
    '发给无控制台用户的账户的邮件通知语言；有用户的账户使用用户自己的语言，通知渠道可单独设置。',
  NOTICE_PAUSE: '同一渠道两条消息的最小间隔，期间的通知合并到下一条消息。',
  CHANNEL_ALLOW:
    'Webhook 等通知渠道（包括客户的渠道）可使用的内网地址。其他内网地址在保存渠道和建立连接时都会被拒绝。',
  TIME_ZONE: '管理员仪表盘的时区，也是新账户的默认时区。',
  WORKERS:
    '转发请求的工作单元数，每个占用一个线程；只有一个时在主线程上运行，单个请求的开销更低，但未被捕获的内部错误会使进程退出。非 Linux 系统固定为一个。',
  DEMO: '演示模式：提供生成固定文本的上游、参考模型，以及带密钥和余额的账户。默认在 `DATA_DIR` 为空且未设置 `NODE_ENV=production` 时开启；以演示模式创建的数据目录会一直保持该模式。',
  NODE_ENV:
    '设为 `production` 时，空的 `DATA_DIR` 不以演示模式启动（除非 `DEMO=1`），且 `ADMIN_API_KEY` 至少 16 个字符。',
  DRAIN_DELAY: '收到 SIGTERM 后端口继续开放的时间，期间 `/readyz` 已返回 503。',
  DRAIN_GRACE: '`DRAIN_DELAY` 之后，进行中的请求还可继续的时间。仍未结束的请求以错误终止，并准确结算。',
  LOG_LEVEL: '日志的最低级别，以 JSON 写到标准输出。`info` 为每个请求记录一行。',
  CURRENCY: '余额和价格的币种，首次启动后不可更改。',
  PAYMENT_METHODS: '充值页面展示支付方式的顺序；未列出的排在最后。',
  PAYMENT_MIN: '单笔订单的最低金额，以该支付方式的币种计。',
  PAYMENT_MAX: '单笔订单的最高金额，以该支付方式的币种计。',
  PAYMENT_MAX_DAY: '每个账户 24 小时内可下单的最高金额，以该支付方式的币种计。',
  PAYMENT_EXPIRY:
    '订单可支付的时长；Stripe 至少 35 分钟，微信支付最多 2 小时，银行转账固定为 14 天。逾期到账的付款在 90 天内同样入账。',
  PAYMENT_ALLOW:
    '支付渠道可以使用的内网地址，仅用于测试。`PUBLIC_URL` 或渠道地址直接使用其中的 IP 时，可用 http 代替 https。',
  PAYMENT_FEES: '支付方式的手续费，从付款金额中扣除，付款前展示，向上取整到最小货币单位。',
  REFUND_SELF: '付款后 24 小时内，未消费的整笔退款申请自动批准。',
  DISPUTE_STOPS_KEYS: '发生拒付争议时停用账户及其密钥。',
  REFERRAL_REWARD_REFERRER:
    '邀请奖励：邀请人获得的奖励，填写平台币种的金额，或首次付款到账金额的百分比。与 `REFERRAL_REWARD_INVITED` 都未设置时关闭邀请奖励。',
  REFERRAL_REWARD_INVITED: '邀请奖励：被邀请账户获得的奖励。',
  REFERRAL_MIN_PAYMENT: '邀请奖励：计为首次付款的最低金额，按不含赠送的到账金额计，以平台币种计。',
  REFERRAL_CLEAR_AFTER: '邀请奖励：付款后经过多长时间发放；在此之前退款或发生争议则不发放。',
  REFERRAL_MAX_MONTH:
    '邀请奖励：每个账户每个自然月（按账户时区）最多获得的奖励，以平台币种计。超出上限的邀请不发放奖励。',
  STRIPE_SECRET_KEY: 'Stripe：密钥（`sk_…`），建议使用受限密钥（`rk_…`）。',
  STRIPE_WEBHOOK_SECRET: 'Stripe：Webhook 端点的签名密钥；轮换期间可填写多个。',
  STRIPE_CURRENCY: 'Stripe：订单币种。与 `CURRENCY` 不同时需要设置汇率（`POST /payment-rates`）。',
  STRIPE_BASE: 'Stripe：接口地址。',
  STRIPE_LIVE: 'Stripe：正式模式（`1`）或测试模式（`0`）。与密钥的模式不一致时拒绝启动。',
  ALIPAY_APP_ID: '支付宝：应用的 APPID。',
  ALIPAY_SELLER_ID: '支付宝：商户的 PID（`2088…`）。',
  ALIPAY_PRIVATE_KEY: '支付宝：应用私钥。',
  ALIPAY_PUBLIC_KEY:
    '支付宝：支付宝公钥，注意不是应用公钥；更换期间可设置多个，以逗号分隔。也可改用三个证书。',
  ALIPAY_APP_CERT: '支付宝：应用公钥证书（`appCertPublicKey`）。',
  ALIPAY_CERT: '支付宝：支付宝公钥证书（`alipayCertPublicKey_RSA2`）。',
  ALIPAY_ROOT_CERT: '支付宝：支付宝根证书（`alipayRootCert`）。',
  ALIPAY_PRODUCTS: '支付宝：已签约的产品，默认的排在最前：支付页面、二维码，或两者。',
  ALIPAY_BASE: '支付宝：网关地址。',
  WECHAT_MCHID: '微信支付：商户号。',
  WECHAT_APPID: '微信支付：应用的 APPID（`wx…`）。',
  WECHAT_SERIAL: '微信支付：商户 API 证书的序列号。',
  WECHAT_PRIVATE_KEY: '微信支付：商户 API 证书的私钥。',
  WECHAT_V3_KEY: '微信支付：APIv3 密钥；更换期间可设置多个，以逗号分隔。',
  WECHAT_PUBLIC_KEY_ID:
    '微信支付：微信支付公钥的 ID（`PUB_KEY_ID_…`）。可设置多个，以逗号分隔。未设置时自动下载平台证书。',
  WECHAT_PUBLIC_KEY: '微信支付：微信支付公钥，与各 ID 一一对应，以逗号分隔。',
  WECHAT_BASE: '微信支付：接口地址。',
  EPAY_BASE: '易支付：站点地址，如有路径一并填写。',
  EPAY_PID: '易支付：商户 ID。',
  EPAY_KEY: '易支付：V1（MD5）的商户密钥。',
  EPAY_PRIVATE_KEY: '易支付：V2（RSA）的商户私钥，用于代替 `EPAY_KEY`。',
  EPAY_PUBLIC_KEY: '易支付：V2 的平台公钥。',
  EPAY_TYPES: '易支付：可选的付款方式。未设置时由付款人在站点选择；版本 2 必须设置。',
  EPAY_TRUST_NOTICE: '易支付：仅凭通知入账，用于查询接口不可用的站点。任何获知密钥的人都可以为自己充值。',
  BANK_TRANSFER: '银行转账：展示给付款人的收款信息：户名、开户行、账号。',
  BANK_ACCOUNT: '银行转账：收款账号。',
  BANK_SECOND_OPERATOR_ABOVE: '银行转账：超过此金额时，须由第二位运营人员确认第一位录入的到账信息。',
}

/** By the English text. */
export const settingDefaults: Readonly<Record<string, string>> = {
  none: '无',
  'see description': '见说明',
  'number of cores': 'CPU 核数',
  '`backups` in `DATA_DIR`': '`DATA_DIR` 下的 `backups`',
  'a quarter of all connections of the worker': '工作线程连接总数的四分之一',
  'the first of `PUBLIC_URLS`, otherwise built from `HOST` and `PORT`':
    '`PUBLIC_URLS` 的第一个，否则由 `HOST` 和 `PORT` 组成',
  '`open` if `SMTP_URL` is set, otherwise `invite`, because addresses are not verified':
    '设置了 `SMTP_URL` 时为 `open`，否则为 `invite`（邮箱未经验证）',
  'that of the database; `CNY` at the first start': '数据库中的币种；首次启动时为 `CNY`',
  'the mode of the secret key': '密钥的模式',
}
