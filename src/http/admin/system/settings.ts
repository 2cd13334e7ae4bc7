/** `/settings`: the effective settings of this relay. */
import { z } from '@hono/zod-openapi'
import { admin } from '../admin-context.ts'
import { settings } from '../../../config.ts'
import type { Setting } from '../../../lib/setting-types.ts'

const settingSchema = z
  .object({
    env: z.string(),
    group: z.string(),
    doc: z.string(),
    allowed: z.string(),
    standard: z.string(),
    value: z.string().nullable().meta({ description: 'For secrets, only whether a value is set.' }),
    secret: z.boolean(),
  })
  .openapi('Setting')
function formatValue(value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (Array.isArray(value)) return value.length === 0 ? null : value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The value as it would be written in the environment. */
function formatSetting(setting: Setting<unknown>, value: unknown): string | null {
  return setting.format === undefined ? formatValue(value) : setting.format(value as never)
}

export const settingsEndpoints = [
  admin.get('/settings', {
    summary: 'List all settings with their effective values',
    response: z.object({ data: z.array(settingSchema) }),
    returns: 'The settings.',
    handle({ ctx: { config, currency } }) {
      const effective = { ...config, currency }
      const data = Object.entries(settings).map(([name, setting]) => {
        const value = formatSetting(setting, effective[name as keyof typeof config])
        const isSecret = 'secret' in setting
        const shownValue = isSecret && value !== null ? '•••' : value
        const { env, group, doc, allowed, defaultText } = setting
        return { env, group, doc, allowed, standard: defaultText, value: shownValue, secret: isSecret }
      })
      return { data }
    },
  }),
]
