/**
 * `npm run pictures`: draws the pictures of the READMEs again, in docs/images/: the bill of a request of the
 * demonstration, and the chart of the stored results of the benchmark. test/checks/pictures.test.ts fails when they are
 * stale.
 */
import { writeCpuCharts } from '../bench/cpu-chart.ts'
import { writeBillPictures } from '../test/support/console/bill-pictures.ts'

writeCpuCharts()
await writeBillPictures()
