/* Describes a saved model, and says what it sees in image files: answer MODEL IMAGE... */

#include <dtnn.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(void) {
  fprintf(stderr, "answer: %s\n", dtnn_last_error());
  return 1;
}

static int answer(dtnn_model* model, const char* const* files, int n) {
  const int64_t outputs = dtnn_num_outputs(model);
  float* values = malloc(sizeof(float) * (size_t)outputs * (size_t)n);
  int i;
  if (values == NULL) return fputs("answer: out of memory\n", stderr), 1;
  if (dtnn_predict_files(model, files, (size_t)n, values, (size_t)(outputs * n)) != 0) {
    free(values);
    return fail();
  }
  for (i = 0; i < n; ++i) {
    const float* of_file = values + i * outputs;
    int64_t best = 0, k;
    for (k = 1; k < outputs; ++k) {
      if (of_file[k] > of_file[best]) best = k;
    }
    printf("%s: %s %.2f %%\n", files[i], dtnn_output_name(model, best), 100 * of_file[best]);
  }
  free(values);
  return 0;
}

int main(int argc, char** argv) {
  dtnn_model* model;
  int64_t shape[3] = {0, 0, 0};
  int code;
  if (argc < 3) return fputs("usage: answer MODEL IMAGE...\n", stderr), 2;
  model = dtnn_load(argv[1], NULL);
  if (model == NULL) return fail();
  dtnn_input_shape(model, shape, 3);
  printf("DTNN %s, %s: %ld x %ld x %ld (%s), %ld outputs, %ld parameters\n", dtnn_version(),
         dtnn_name(model), (long)shape[0], (long)shape[1], (long)shape[2], dtnn_layout(model),
         (long)dtnn_num_outputs(model), (long)dtnn_num_parameters(model));
  code = answer(model, (const char* const*)argv + 2, argc - 2);
  dtnn_free(model);
  return code;
}
