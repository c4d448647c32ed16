// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files, compressed ones among the seeds: any byte may be anything.
 */
// sources: plugin/perfdata/read*.c plugin/perfdata/deliver.c plugin/perfdata/event_name.c plugin/perfdata/formats.c plugin/perfdata/order.c plugin/perfdata/sample.c plugin/util/msg.c
// libs: -ltraceevent -lzstd
#define LIBFUZZER
#include "../fuzz_reader.c"
