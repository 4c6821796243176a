// What a model answers after it was saved and loaded again.

#ifndef DTNN_MODELS_ONNX_TESTING_ANSWERS_H_
#define DTNN_MODELS_ONNX_TESTING_ANSWERS_H_

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "models/parameters/parameter_store.h"
#include "models/serving/predictor.h"
#include "models/serving/saved_model.h"
#include "tensor/tensor.h"

namespace dtnn::testing {

// Samples x[i] = 37 * i mod 101 / 50 - 1, counted in NCHW where `channels_first`.
inline Tensor CountedSamples(const Graph& graph, int64_t n, bool channels_first) {
  const ImageExtents image = ExtentsOf(graph.input_shape(), graph.format());
  Tensor x = *Tensor::Zeros(DType::kFloat32, graph.input_shape().Prepend(n));
  int64_t place = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t h = 0; h < image.height; ++h) {
      for (int64_t w = 0; w < image.width; ++w) {
        for (int64_t c = 0; c < image.channels; ++c, ++place) {
          const int64_t nhwc = ((i * image.height + h) * image.width + w) * image.channels + c,
                        nchw = ((i * image.channels + c) * image.height + h) * image.width + w;
          const int64_t at = graph.format() == TensorFormat::kNHWC ? nhwc : nchw;
          const int64_t count = channels_first ? nchw : nhwc;
          x.data<float>()[at] = float(count * 37 % 101) / 50 - 1;
        }
      }
    }
  }
  return x;
}

// Saves the model to `path`, and what it answers to `x` when it is loaded from there.
inline std::vector<float> Answers(const SavedModel& model, const ParameterStore& store,
                                  DeviceContext& host, const std::string& path, const Tensor& x,
                                  bool int8 = false) {
  const absl::Status saved = SaveModel(path, model, store, host);
  EXPECT_TRUE(saved.ok()) << saved;
  const auto predictor = Predictor::Load(path, {.int8 = int8});
  if (!predictor.ok()) {
    ADD_FAILURE() << predictor.status();
    return {};
  }
  const auto y = (*predictor)->Predict(x);
  if (!y.ok()) {
    ADD_FAILURE() << y.status();
    return {};
  }
  return {y->data<float>(), y->data<float>() + y->num_elements()};
}

}  // namespace dtnn::testing

#endif  // DTNN_MODELS_ONNX_TESTING_ANSWERS_H_
