/** The fields of the branding, and what is wrong with them, in Simplified Chinese. */
import { addErrorTexts } from './error-texts.ts'

const brandingLabels = {
  'colors.dark': '深色主题强调色',
  'colors.light': '浅色主题强调色',
  links: '链接',
  'links.label': '链接名称',
  'links.url': '链接地址',
  logo: '图标',
  privacy: '隐私政策',
  'support.contact': '客服联系方式',
  'support.text': '客服说明',
  terms: '服务条款',
} as const

const brandingReasons: readonly (readonly [RegExp, string])[] = [
  [/^must be a colour such as .*$/, '必须是颜色值，例如 #0b6a84'],
  [
    /^must have a contrast of at least ([\d.]+) on the backgrounds .*, and has ([\d.]+)$/,
    '与该主题背景的对比度至少为 $1，当前为 $2',
  ],
  [/^must be an https URL$/, '必须是以 https:// 开头的网址'],
  [/^must have at most (\d+) KiB$/, '最大 $1 KiB'],
  [/^must be base64, or the present logo as it is returned$/, '必须是 Base64 编码，或当前标识的原样返回值'],
  [/^must be the base64 of a file$/, '必须是文件的 Base64 编码'],
  [/^must be a complete PNG, JPEG or WebP image$/, '必须是完整的 PNG、JPEG 或 WebP 图片'],
  [
    /^must have at most (\d+) pixels on each side, and has (\d+) × (\d+)$/,
    '每边最多 $1 像素，当前为 $2 × $3',
  ],
]

addErrorTexts({ labels: brandingLabels, reasons: brandingReasons })
