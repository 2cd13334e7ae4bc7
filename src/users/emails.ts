/** E-mails about signing in, in the user's language. `link` opens a page of the console. */
import type { Language } from './users.ts'

type EmailKind = 'verify-email' | 'known-email' | 'reset-password'

interface EmailTemplate {
  readonly subject: string
  readonly text: (link: string) => string
}

const templates: Record<EmailKind, Record<Language, EmailTemplate>> = {
  'verify-email': {
    en: {
      subject: 'Confirm your e-mail address',
      text: (link) => `Open this link within 24 hours to confirm your e-mail address and sign in:

${link}

If you did not sign up, ignore this e-mail: no account will be created.
`,
    },
    'zh-CN': {
      subject: '请确认您的邮箱地址',
      text: (link) => `请在 24 小时内打开以下链接，确认邮箱地址并登录：

${link}

如非本人操作，请忽略本邮件，系统不会创建账户。
`,
    },
  },
  'known-email': {
    en: {
      subject: 'You already have an account',
      text: (
        link,
      ) => `Someone, perhaps you, tried to sign up with this e-mail address, which already has an account.

Sign in here, or reset your password there: ${link}
`,
    },
    'zh-CN': {
      subject: '您已有账户',
      text: (link) => `有人（可能是您本人）使用此邮箱注册账户，但该邮箱已有账户。

请通过以下链接登录或重置密码：${link}
`,
    },
  },
  'reset-password': {
    en: {
      subject: 'Reset your password',
      text: (link) => `Open this link within an hour to set a new password:

${link}

If you did not request this, ignore this e-mail: your password stays unchanged.
`,
    },
    'zh-CN': {
      subject: '重置密码',
      text: (link) => `请在 1 小时内打开以下链接重置密码：

${link}

如非本人操作，请忽略本邮件，您的密码不会改变。
`,
    },
  },
}

export function renderEmail(
  kind: EmailKind,
  language: Language,
  link: string,
): { readonly subject: string; readonly text: string } {
  const { subject, text } = templates[kind][language]
  return { subject, text: text(link) }
}
