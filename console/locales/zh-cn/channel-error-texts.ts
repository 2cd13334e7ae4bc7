/** What is wrong with the fields of a channel of notifications, for error-texts.ts. */
export const channelReasons: readonly (readonly [RegExp, string])[] = [
  [/^must be a chat, such as -1001234 or @name$/, '必须是会话，例如 -1001234 或 @name'],
  [/^must be the bot’s token$/, '必须是机器人的 Token'],
  [/^must be whsec_ and at least 24 bytes in base64$/, '必须以 whsec_ 开头，后接至少 24 字节的 Base64'],
  [/^must be sent with a new server, .*$/, '在更换服务器时必须重新填写'],
  [/^must be webhook for an account$/, '只能是 Webhook'],
]
