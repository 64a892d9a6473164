/* c_library_check CHECKPOINT PNG PIXELS HEIGHT WIDTH DAMAGED: uses every function of
 * libgfpredict.so from C, also wrongly. PIXELS: a file with the RGB pixels of PNG. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/gfpredict.h"

#define MOST_CLASSES 100

static int failures = 0;

static void Expect(int good, const char* what, const char* error) {
  if (good) return;
  fprintf(stderr, "FAIL: %s (message: \"%s\")\n", what, error);
  ++failures;
}

#define EXPECT(good) Expect((good), #good, error)

static size_t ReadBytes(const char* path, unsigned char* to, size_t most) {
  FILE* const file = fopen(path, "rb");
  size_t bytes;
  if (file == NULL) return 0;
  bytes = fread(to, 1, most, file);
  fclose(file);
  return bytes;
}

int main(int argc, char** argv) {
  static unsigned char bytes[1 << 20], pixels[1 << 20], gaps[1 << 21];
  static float file[MOST_CLASSES], memory[MOST_CLASSES], images[2 * MOST_CLASSES];
  char error[1024] = "not set";
  char tiny[8];
  gf_predictor* predictor;
  gf_options options;
  size_t size, results, stride;
  int height, width;
  if (argc != 7) return 2;
  height = atoi(argv[4]);
  width = atoi(argv[5]);

  EXPECT(strcmp(gf_version(), "0.1.0") == 0);
  EXPECT(gf_classes(NULL) == 0);
  EXPECT(gf_output_kind(NULL) == GF_CLASS);
  EXPECT(gf_class_name(NULL, 0) == NULL);
  gf_free(NULL);

  /* Nothing is loaded. */
  EXPECT(gf_load(NULL, NULL, error, sizeof(error)) == NULL && strstr(error, "path") != NULL);
  EXPECT(gf_load("no such", NULL, error, sizeof(error)) == NULL &&
         strstr(error, "no such") != NULL);
  EXPECT(gf_load("no such", NULL, NULL, 0) == NULL);
  EXPECT(gf_load("no such", NULL, tiny, sizeof(tiny)) == NULL && strlen(tiny) == sizeof(tiny) - 1);
  memset(&options, 0, sizeof(options));
  EXPECT(gf_load(argv[1], &options, error, sizeof(error)) == NULL && strstr(error, "size") != NULL);
  options.size = sizeof(options);
  options.device = "abacus";
  EXPECT(gf_load(argv[1], &options, error, sizeof(error)) == NULL &&
         strstr(error, "abacus") != NULL);
  options.device = NULL;
  options.net = argv[2];
  EXPECT(gf_load(argv[1], &options, error, sizeof(error)) == NULL && strlen(error) > 0);
  {
    struct {
      gf_options options;
      int later;
    } newer;
    memset(&newer, 0, sizeof(newer));
    newer.options.size = sizeof(newer);
    newer.later = 1;
    EXPECT(gf_load(argv[1], &newer.options, error, sizeof(error)) == NULL &&
           strstr(error, "newer") != NULL);
  }

  options.net = NULL;
  options.batch_size = 3;
  predictor = gf_load(argv[1], &options, error, sizeof(error));
  EXPECT(predictor != NULL && error[0] == '\0');
  if (predictor == NULL) return 1;
  results = (size_t)gf_classes(predictor);
  EXPECT(results > 1 && results <= MOST_CLASSES);
  EXPECT(gf_output_kind(predictor) == GF_CLASS);
  EXPECT(gf_class_name(predictor, 0) != NULL && strlen(gf_class_name(predictor, 0)) > 0);
  EXPECT(gf_class_name(predictor, -1) == NULL && gf_class_name(predictor, 1000) == NULL);

  /* One image in three ways. */
  EXPECT(gf_predict_file(predictor, argv[2], file, error, sizeof(error)) == GF_OK);
  EXPECT(error[0] == '\0');
  size = ReadBytes(argv[2], bytes, sizeof(bytes));
  EXPECT(gf_predict_memory(predictor, bytes, size, memory, error, sizeof(error)) == GF_OK);
  EXPECT(memcmp(file, memory, results * sizeof(float)) == 0);
  size = ReadBytes(argv[3], pixels, sizeof(pixels));
  EXPECT(size == (size_t)height * (size_t)width * 3);
  EXPECT(gf_predict_pixels(predictor, pixels, 1, height, width, 3, 0, 0, images, error,
                           sizeof(error)) == GF_OK);
  EXPECT(memcmp(file, images, results * sizeof(float)) == 0);

  /* Two images, with gaps between rows and images. */
  stride = (size_t)width * 3 + 5;
  for (int i = 0; i < 2; ++i) {
    for (int y = 0; y < height; ++y) {
      memcpy(gaps + (size_t)i * (stride * (size_t)height + 11) + (size_t)y * stride,
             pixels + (size_t)y * (size_t)width * 3, (size_t)width * 3);
    }
  }
  EXPECT(gf_predict_pixels(predictor, gaps, 2, height, width, 3, stride,
                           stride * (size_t)height + 11, images, error, sizeof(error)) == GF_OK);
  EXPECT(memcmp(file, images, results * sizeof(float)) == 0);
  EXPECT(memcmp(file, images + results, results * sizeof(float)) == 0);

  /* Mistakes of the caller and damaged images; the predictor goes on. */
  EXPECT(gf_predict_file(NULL, argv[2], file, error, sizeof(error)) == GF_USER_ERROR);
  EXPECT(gf_predict_file(predictor, NULL, file, error, sizeof(error)) == GF_USER_ERROR);
  EXPECT(gf_predict_file(predictor, argv[2], NULL, error, sizeof(error)) == GF_USER_ERROR);
  EXPECT(gf_predict_file(predictor, argv[6], file, error, sizeof(error)) == GF_USER_ERROR &&
         strstr(error, argv[6]) != NULL);
  EXPECT(gf_predict_memory(predictor, bytes, 0, file, error, sizeof(error)) == GF_USER_ERROR);
  EXPECT(gf_predict_memory(predictor, bytes, 40, file, error, sizeof(error)) == GF_USER_ERROR);
  EXPECT(gf_predict_pixels(predictor, pixels, 1, height, width, 2, 0, 0, images, error,
                           sizeof(error)) == GF_USER_ERROR);
  EXPECT(gf_predict_pixels(predictor, pixels, 1, 0, width, 3, 0, 0, images, error, sizeof(error)) ==
         GF_USER_ERROR);
  EXPECT(gf_predict_pixels(predictor, pixels, 1, height, width, 3, 4, 0, images, error,
                           sizeof(error)) == GF_USER_ERROR);
  EXPECT(gf_predict_file(predictor, argv[2], file, error, sizeof(error)) == GF_OK);
  EXPECT(memcmp(file, memory, results * sizeof(float)) == 0);
  gf_free(predictor);
  if (failures == 0) printf("PASS\n");
  return failures == 0 ? 0 : 1;
}
