/* Predicts the classes of images with a network that GradientFlow has trained, or with weights of
 * Caffe. A pure C interface of libgfpredict.so:
 *
 *   char error[1024];
 *   gf_predictor* predictor = gf_load("runs/quickstart", NULL, error, sizeof(error));
 *   if (predictor == NULL) ... error says why ...
 *   float* probabilities = malloc(gf_classes(predictor) * sizeof(float));
 *   if (gf_predict_file(predictor, "cat.jpg", probabilities, error, sizeof(error)) != GF_OK) ...
 *   gf_free(predictor);
 *
 * Threads: every function may be called from any thread. Calls for one predictor wait for each
 * other; calls for different predictors may run at the same time.
 *
 * The library prints nothing, handles no signals, ends no process and uses no MPI. Probabilities
 * equal the results of gfpredict bit for bit at the same batch size and number of threads.
 *
 * Environment: while it is loaded, the library sets OPENCV_IO_MAX_IMAGE_PIXELS, _WIDTH and _HEIGHT
 * and OPENCV_IO_ENABLE_OPENEXR where they are not set: OpenCV, which may read rare image formats,
 * takes its limits from them. Load the library before you start threads.
 *
 * Errors: a function that fails writes a message of one or more lines, ended by a zero and cut to
 * error_size bytes, to `error`, which may be NULL if error_size is 0. After success `error` is
 * empty. */
#ifndef GRADIENTFLOW_PREDICT_GFPREDICT_H_
#define GRADIENTFLOW_PREDICT_GFPREDICT_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return. */
#define GF_OK 0
#define GF_USER_ERROR 1     /* a bad argument, a bad file, or too little memory */
#define GF_INTERNAL_ERROR 2 /* a mistake of the library */

/* A network with its weights, and how images are prepared for it. */
typedef struct gf_predictor gf_predictor;

/* Set all members to zero, then `size`, then the members that you want to change:
 *   gf_options options;
 *   memset(&options, 0, sizeof(options));
 *   options.size = sizeof(options);
 * Later versions add members at the end. */
typedef struct gf_options {
  size_t size; /* sizeof(gf_options) */
  /* Paths; NULL = not given. */
  const char* net;     /* a net's prototxt, in place of the checkpoint's */
  const char* weights; /* safetensors or x.caffemodel, in place of the checkpoint's */
  const char* config;  /* a job, whose net and preparation of images replace the checkpoint's */
  const char* preprocessing; /* a prototxt that says how images are prepared, with the fields of
                                validation_data of a job: resize_shorter, crop_size, mean, ... */
  const char* device;        /* "cpu" or "cuda"; NULL = "cpu" */
  int threads;               /* 0 = one per processor of this process; at most 1024 */
  int batch_size;            /* images per pass of the network; a pass with fewer images takes
                                as long. 0 = 1 */
  int bgr;                   /* not 0: x.caffemodel was trained on BGR images */
  /* Gets remarks during gf_load, such as that a damaged checkpoint was passed over, and note_user.
   * The text is valid during the call. NULL: remarks are lost. */
  void (*note)(const char* text, void* note_user);
  void* note_user;
} gf_options;

/* Loads a network. `path`: the folder of a checkpoint, of several or of a run, whose newest valid
 * checkpoint is taken; or a file of weights, which needs options->net or options->config. `options`
 * may be NULL. Returns NULL if it fails. The caller frees the result with gf_free. */
gf_predictor* gf_load(const char* path, const gf_options* options, char* error, size_t error_size);

/* Frees a predictor, which no other thread may be using. Does nothing for NULL. */
void gf_free(gf_predictor* predictor);

/* Kinds of outputs of a network. */
#define GF_CLASS 0   /* one class: probabilities are the softmax of the scores, with the sum 1 */
#define GF_CLASSES 1 /* any number of classes: each has a probability of its own, its sigmoid */
#define GF_VALUES 2  /* real numbers: they come in place of probabilities */

/* One of the three; GF_CLASS for NULL. */
int gf_output_kind(const gf_predictor* predictor);

/* The number of classes or values; 0 for NULL. */
int gf_classes(const gf_predictor* predictor);

/* The name of a class or value from 0 on; NULL where none is known. It belongs to the predictor. */
const char* gf_class_name(const gf_predictor* predictor, int index);

/* The functions below write gf_classes() probabilities, or values, per image in the order of the
 * classes; for GF_CLASS they have the sum 1 but for rounding. They return GF_OK, GF_USER_ERROR or
 * GF_INTERNAL_ERROR; after an error the probabilities are undefined. */

/* An image file: JPEG, PNG, GIF, TIFF, or another format of docs/data.md. */
int gf_predict_file(gf_predictor* predictor, const char* path, float* probabilities, char* error,
                    size_t error_size);

/* The `size` bytes of such a file. */
int gf_predict_memory(gf_predictor* predictor, const void* data, size_t size, float* probabilities,
                      char* error, size_t error_size);

/* `count` images of height x width pixels, 8 bits per channel: RGB (channels 3), gray (1), or as
 * many channels as the network takes, up to 16; rows from top to bottom. row_stride: bytes from a
 * row to the next, 0 = width * channels. image_stride: bytes from an image to the next,
 * 0 = height * row_stride. probabilities: count x gf_classes(). */
int gf_predict_pixels(gf_predictor* predictor, const uint8_t* pixels, size_t count, int height,
                      int width, int channels, size_t row_stride, size_t image_stride,
                      float* probabilities, char* error, size_t error_size);

/* "0.1.0" */
const char* gf_version(void);

#ifdef __cplusplus
}
#endif

#endif /* GRADIENTFLOW_PREDICT_GFPREDICT_H_ */
