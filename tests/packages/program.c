/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A user of libexactvq: scores one frame and prints the library's version and the scores. */
#include <exactvq/exactvq.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    static uint8_t reference_samples[64 * 64], main_samples[64 * 64];
    exactvq_metric_list list = { 0 };
    exactvq_config config = { 0 };
    exactvq_frame reference = { 0 }, distorted;
    exactvq_session *session = NULL;
    exactvq_score scores[2];
    char text[256];
    size_t i;

    if (exactvq_parse_metrics("psnr", "enable_mse=1", NULL, &list, text, sizeof(text)) != EXACTVQ_OK) {
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    config.struct_size   = sizeof(config);
    config.metrics       = list.metrics;
    config.metric_count  = list.count;
    config.format.width  = 64;
    config.format.height = 64;
    config.format.depth  = 8;
    config.format.planes = 1;

    memset(reference_samples, 100, sizeof(reference_samples));
    memset(main_samples, 101, sizeof(main_samples));
    reference.struct_size     = sizeof(reference);
    reference.format          = config.format;
    reference.plane[0].data   = reference_samples;
    reference.plane[0].stride = 64;
    distorted                 = reference;
    distorted.plane[0].data   = main_samples;

    if (exactvq_open(&config, &session) != EXACTVQ_OK || exactvq_output_count(session) != 2 ||
        exactvq_submit(session, &reference, &distorted, 0) != EXACTVQ_OK || exactvq_receive(session, scores, NULL, 0) != EXACTVQ_OK) {
        fprintf(stderr, "%s\n", exactvq_error(session));
        return 1;
    }
    printf("%s\n", exactvq_version());
    for (i = 0; i < 2; i++) {
        exactvq_output output = { 0 };

        output.struct_size = sizeof(output);
        exactvq_get_output(session, i, &output);
        exactvq_format_double(scores[i].value, text, sizeof(text));
        printf("%s=%s\n", output.name, text);
    }
    exactvq_close(session);
    exactvq_free_metrics(&list);
    return 0;
}
