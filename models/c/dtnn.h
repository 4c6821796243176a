/* DTNN for C: loads a model that training saved, describes it, and predicts with it.
 *
 *   dtnn_model* model = dtnn_load("mine.safetensors", NULL);
 *   if (model == NULL) { fprintf(stderr, "%s\n", dtnn_last_error()); return 1; }
 *   const char* files[] = {"shoe.png"};
 *   float outputs[10];
 *   if (dtnn_predict_files(model, files, 1, outputs, 10) != 0) ...
 *   dtnn_free(model);
 *
 * Results are those of the C++ Predictor (models/serving/predictor.h), bit for bit; those of models
 * of float64 are rounded to float.
 *
 * Errors: a function that returns int returns 0, or -1 after an error; one that returns a pointer
 * returns NULL after an error. Then dtnn_last_error() is its message. No function throws, ends the
 * process, or prints. After an error of a prediction, `outputs` is undefined. A NULL where a
 * pointer is needed is an error; dtnn_free(NULL) does nothing.
 *
 * Threads: every function may be called by several threads at a time, also with one model, except
 * that dtnn_free must be the last call with its model. A model computes one batch at a time, with
 * the threads that OMP_NUM_THREADS allows; for batches side by side, load it once per thread.
 *
 * Stability: a program that was linked with libdtnn.so.0 runs with every later libdtnn.so.0. Later
 * versions may add functions. */

#ifndef DTNN_MODELS_C_DTNN_H_
#define DTNN_MODELS_C_DTNN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DTNN_API __attribute__((visibility("default")))

/* "0.1.0": the version of the library that is linked. */
DTNN_API const char* dtnn_version(void);

/* The message of the last error in the calling thread, or "": valid until its next call of a
 * function that fails. Names the file, what was wrong, what was expected. */
DTNN_API const char* dtnn_last_error(void);

typedef struct dtnn_model dtnn_model;

/* Loads the model in the file at `path`. Free it with dtnn_free. `options`: NULL, or options of the
 * program `predict` by name, with spaces between them, such as "batch-size=8 math-mode=int8":
 *
 *   batch-size   the most samples that are computed at a time, 32 if not given; memory grows with
 *                it, answers stay the same
 *   math-mode    fp32; bf16: in 16 bits, of models of float32; int8: in 8 bits, which needs a model
 *                that was quantized */
DTNN_API dtnn_model* dtnn_load(const char* path, const char* options);
DTNN_API void dtnn_free(dtnn_model* model);

/* What the model is. Texts belong to the model, and are valid until it is freed. */

/* The name of its network: "resnet20". */
DTNN_API const char* dtnn_name(const dtnn_model* model);
/* Warnings about its file, a line each; "" if there are none. */
DTNN_API const char* dtnn_warnings(const dtnn_model* model);

/* The shape of a sample, as the network takes it. Writes the first `room` extents to `extents`, and
 * returns how many there are, or -1. An image has 3: height, width and channels if dtnn_layout is
 * "NHWC"; channels, height and width if it is "NCHW". */
DTNN_API int dtnn_input_shape(const dtnn_model* model, int64_t* extents, int room);
DTNN_API const char* dtnn_layout(const dtnn_model* model);

/* Outputs per sample, and parameters; -1 after an error. */
DTNN_API int64_t dtnn_num_outputs(const dtnn_model* model);
DTNN_API int64_t dtnn_num_parameters(const dtnn_model* model);

/* What the outputs are: probabilities of classes, of which a sample has one; probabilities of
 * labels, each true or false by itself; or other values. */
enum { DTNN_CLASSES = 0, DTNN_LABELS = 1, DTNN_VALUES = 2 };
DTNN_API int dtnn_output_kind(const dtnn_model* model);
/* The name of an output, its number if it has none. */
DTNN_API const char* dtnn_output_name(const dtnn_model* model, int64_t output);

/* Predictions: dtnn_num_outputs() values per sample, one sample after another. `outputs` has room
 * for `room` values, which must be enough for all `n` samples. An output that is NaN, infinite or
 * beyond the range of float is an error. Images are converted, cropped, resized and normalised as
 * in training. */

/* Predicts image files: JPEG and PNG. */
DTNN_API int dtnn_predict_files(dtnn_model* model, const char* const* paths, size_t n,
                                float* outputs, size_t room);
/* Predicts the contents of such files in memory: sizes[i] bytes at images[i]. */
DTNN_API int dtnn_predict_images(dtnn_model* model, const void* const* images, const size_t* sizes,
                                 size_t n, float* outputs, size_t room);
/* Predicts n images of the same size, one after another: a byte per channel, pixel by pixel, row by
 * row; 1 (grey), 3 (red, green, blue), or 2 or 4 channels (with alpha, which is dropped). Grey and
 * colour become what the network takes. */
DTNN_API int dtnn_predict_pixels(dtnn_model* model, const uint8_t* pixels, int64_t height,
                                 int64_t width, int64_t channels, size_t n, float* outputs,
                                 size_t room);
/* Predicts samples as the network takes them (dtnn_input_shape), preprocessed by the caller. */
DTNN_API int dtnn_predict_floats(dtnn_model* model, const float* samples, size_t n, float* outputs,
                                 size_t room);

#ifdef __cplusplus
}
#endif

#endif /* DTNN_MODELS_C_DTNN_H_ */
