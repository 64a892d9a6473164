/* c_threads_check CHECKPOINT IMAGE IMAGE: two threads that share a predictor of libgfpredict.so, and
 * two that have one each, get the probabilities that one thread gets, bit for bit. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "predict/gfpredict.h"

#define MOST_CLASSES 100
#define REPEATS 20

/* What a thread does: predicts one image again and again. */
typedef struct Work {
  gf_predictor* predictor;
  const char* image;
  const float* expected;
  int failures;
} Work;

static void* Predict(void* argument) {
  Work* const work = argument;
  const size_t bytes = (size_t)gf_classes(work->predictor) * sizeof(float);
  for (int i = 0; i < REPEATS; ++i) {
    float probabilities[MOST_CLASSES];
    char error[1024];
    if (gf_predict_file(work->predictor, work->image, probabilities, error, sizeof(error)) !=
            GF_OK ||
        error[0] != '\0') {
      fprintf(stderr, "FAIL: %s\n", error);
      ++work->failures;
    } else if (memcmp(probabilities, work->expected, bytes) != 0) {
      fprintf(stderr, "FAIL: other probabilities of %s\n", work->image);
      ++work->failures;
    }
  }
  return NULL;
}

/* Runs both works at the same time; returns the number of failures. */
static int RunBoth(Work works[2], const char* what) {
  pthread_t threads[2];
  int failures = 0;
  for (int i = 0; i < 2; ++i) {
    if (pthread_create(&threads[i], NULL, Predict, &works[i]) != 0) {
      fprintf(stderr, "FAIL: no thread\n");
      return 1;
    }
  }
  for (int i = 0; i < 2; ++i) {
    pthread_join(threads[i], NULL);
    failures += works[i].failures;
  }
  if (failures > 0) fprintf(stderr, "FAIL: %s: %d of %d\n", what, failures, 2 * REPEATS);
  return failures;
}

int main(int argc, char** argv) {
  static float expected[2][MOST_CLASSES];
  char error[1024] = "";
  gf_predictor* predictors[2];
  gf_options options;
  int failures = 0;
  if (argc != 4) return 2;
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  options.threads = 2;
  for (int i = 0; i < 2; ++i) {
    predictors[i] = gf_load(argv[1], &options, error, sizeof(error));
    if (predictors[i] == NULL || gf_classes(predictors[i]) > MOST_CLASSES) {
      fprintf(stderr, "FAIL: gf_load: %s\n", error);
      return 1;
    }
  }
  for (int i = 0; i < 2; ++i) {
    if (gf_predict_file(predictors[0], argv[2 + i], expected[i], error, sizeof(error)) != GF_OK) {
      fprintf(stderr, "FAIL: %s\n", error);
      return 1;
    }
  }
  if (memcmp(expected[0], expected[1], sizeof(expected[0])) == 0) {
    fprintf(stderr, "FAIL: equal images show nothing\n");
    ++failures;
  }
  for (int shared = 1; shared >= 0; --shared) {
    Work works[2];
    for (int i = 0; i < 2; ++i) {
      works[i].predictor = predictors[shared ? 0 : i];
      works[i].image = argv[2 + i];
      works[i].expected = expected[i];
      works[i].failures = 0;
    }
    failures += RunBoth(works, shared ? "a shared predictor" : "two predictors");
  }
  for (int i = 0; i < 2; ++i) gf_free(predictors[i]);
  if (failures == 0) printf("PASS\n");
  return failures == 0 ? 0 : 1;
}
