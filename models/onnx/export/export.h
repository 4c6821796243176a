// A model as ONNX: opset 17, float32, a batch of any size, the layers under their own names.
//
//   input   "input", (N, channels, height, width); in NHWC (N, height, width, channels)
//   output  "output", what the predictor answers: after the softmax, if the network has one
//
// In 8 bits, the layers that multiply bytes stand between pairs of QuantizeLinear and
// DequantizeLinear, with the ranges of the model's file: weights in int8, a scale for each filter.
// The metadata hold the texts of the model's file but the network, so that an import brings back
// all of it, and for others "classes" (a line each), "channel_order", "scale" (of bytes), "mean"
// and "std" (value = (byte * scale - mean) / std).

#ifndef DTNN_MODELS_ONNX_EXPORT_EXPORT_H_
#define DTNN_MODELS_ONNX_EXPORT_EXPORT_H_

#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "models/onnx/file/onnx.pb.h"
#include "models/parameters/parameter_store.h"
#include "models/serving/saved_model.h"
#include "tensor/format.h"

namespace dtnn {

struct ExportOptions {
  TensorFormat format = TensorFormat::kNCHW;  // of the images that go in and, if any, come out
  bool int8 = false;                          // needs a model that was quantized, of NHWC images
};

// `store`: the parameters of the model's graph, on the host. Unimplemented for a layer that ONNX
// has no operator for, naming it.
absl::StatusOr<onnx::ModelProto> ExportModel(const SavedModel& model, const ParameterStore& store,
                                             DeviceContext& host,
                                             const ExportOptions& options = {});

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_EXPORT_EXPORT_H_
