/** What the pictures of a request's bill in the READMEs depend on; bill-pictures.ts takes them. */
import { createHash } from 'node:crypto'
import { customers as englishCustomers } from '../../../console/locales/en/customers.ts'
import { prices as englishPrices } from '../../../console/locales/en/prices.ts'
import { customers as chineseCustomers } from '../../../console/locales/zh-cn/customers.ts'
import { prices as chinesePrices } from '../../../console/locales/zh-cn/prices.ts'
import { referenceModels } from '../../../src/catalog/reference-models.ts'
import { readText } from '../source-files.ts'

export const inputsPath = 'docs/images/inputs.json'
export const billPicturePaths = ['en', 'zh-cn'].flatMap((language) =>
  ['light', 'dark'].map((scheme) => `docs/images/bill.${language}.${scheme}.webp`),
)

/** The model of the request. Its bill has a line for the request itself, in addition to the tokens. */
export const billModel = 'search-chat'

/** What the page is made of. What other pages share with it counts only where it shapes the picture. */
const inputFiles = [
  'console/components/layout/page.tsx',
  'console/components/tables/bill-table.tsx',
  'console/pages/operator/monitor/request.tsx',
  'console/styles/base.css',
  'console/styles/page.css',
  'console/styles/table.css',
  'console/styles/theme.css',
  'src/process/demo/demo-upstream.ts',
  'test/support/console/bill-pictures.ts',
]

/** A hash of the page's sources and texts, of the price, and of what the demonstration answers. */
export function hashBillInputs(): string {
  const texts = [englishCustomers.request, chineseCustomers.request, englishPrices.bill, chinesePrices.bill]
  const model = referenceModels.find(({ id }) => id === billModel)
  const functionsAsText = (_: string, value: unknown): unknown =>
    typeof value === 'function' ? String(value) : value
  const hash = createHash('sha256').update(JSON.stringify([texts, model], functionsAsText))
  for (const path of inputFiles) hash.update(readText(path))
  return hash.digest('hex')
}
