/** The letters to people about signing in, in their language. `link` opens a page of the console. */
import type { Language } from './users.ts'

type LetterKind = 'verify-email' | 'known-email' | 'reset-password'

interface Words {
  readonly subject: string
  readonly text: (link: string) => string
}

const letters: Record<LetterKind, Record<Language, Words>> = {
  'verify-email': {
    en: {
      subject: 'Confirm your e-mail address',
      text: (link) => `Open this link within 24 hours to confirm your e-mail address and to sign in:

${link}

If you have not signed up, do nothing: no account is opened.
`,
    },
    'zh-CN': {
      subject: '请确认您的邮箱地址',
      text: (link) => `请在 24 小时内打开以下链接，确认邮箱地址并登录：

${link}

如果您没有注册，请忽略本邮件，账户不会开通。
`,
    },
  },
  'known-email': {
    en: {
      subject: 'You have an account already',
      text: (
        link,
      ) => `Somebody, perhaps you, has signed up with this e-mail address, which has an account already.

Sign in here, or ask for a new password there: ${link}
`,
    },
    'zh-CN': {
      subject: '您已有账户',
      text: (link) => `有人（也许是您本人）使用此邮箱地址注册，但该地址已有账户。

请在此登录，或在该页面重设密码：${link}
`,
    },
  },
  'reset-password': {
    en: {
      subject: 'Set a new password',
      text: (link) => `Open this link within an hour to set a new password:

${link}

If you have not asked for it, do nothing: your password stays as it is.
`,
    },
    'zh-CN': {
      subject: '重设密码',
      text: (link) => `请在一小时内打开以下链接重设密码：

${link}

如果您没有提出请求，请忽略本邮件，密码不会改变。
`,
    },
  },
}

export function letterOf(
  kind: LetterKind,
  language: Language,
  link: string,
): { readonly subject: string; readonly text: string } {
  const { subject, text } = letters[kind][language]
  return { subject, text: text(link) }
}
