/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The public header is C99, warning-free, and everything that it declares links. */
#include "exactvq/exactvq.h"

int exactvq_header_test(void);

int exactvq_header_test(void)
{
    exactvq_metric_list list = { 0 };
    exactvq_config config = { 0 };
    exactvq_session *session = NULL;
    char error[256];
    int ok = exactvq_parse_metrics("psnr", NULL, NULL, &list, error, sizeof(error)) == EXACTVQ_OK;

    config.struct_size   = sizeof(config);
    config.metrics       = list.metrics;
    config.metric_count  = list.count;
    config.format.width  = 16;
    config.format.height = 16;
    config.format.depth  = 8;
    config.format.planes = 1;
    ok = ok && exactvq_open(&config, &session) == EXACTVQ_OK && exactvq_output_count(session) == 1;
    exactvq_close(session);
    exactvq_free_metrics(&list);
    return ok;
}
