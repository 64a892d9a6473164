/* example CHECKPOINT IMAGE...: prints the most likely class of each image. A complete user of
 * libgfpredict.so in C. */
#include <stdio.h>
#include <stdlib.h>

#include "predict/gfpredict.h"

int main(int argc, char** argv) {
  char error[1024];
  gf_predictor* predictor;
  float* probabilities;
  int classes, failed = 0;
  if (argc < 3) {
    fprintf(stderr, "usage: example CHECKPOINT IMAGE...\n");
    return 2;
  }
  predictor = gf_load(argv[1], NULL, error, sizeof(error));
  if (predictor == NULL) {
    fprintf(stderr, "example: %s\n", error);
    return 2;
  }
  classes = gf_classes(predictor);
  probabilities = malloc((size_t)classes * sizeof(float));
  if (probabilities == NULL) return 2;
  for (int i = 2; i < argc; ++i) {
    int best = 0;
    if (gf_predict_file(predictor, argv[i], probabilities, error, sizeof(error)) != GF_OK) {
      fprintf(stderr, "example: %s\n", error);
      failed = 1;
      continue;
    }
    for (int c = 1; c < classes; ++c) {
      if (probabilities[c] > probabilities[best]) best = c;
    }
    {
      const char* name = gf_class_name(predictor, best);
      printf("%s: class %d (%s), probability %.9g\n", argv[i], best, name ? name : "without a name",
             (double)probabilities[best]);
    }
  }
  free(probabilities);
  gf_free(predictor);
  return failed ? 2 : 0;
}
