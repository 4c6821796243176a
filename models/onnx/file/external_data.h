// Tensors of an ONNX model that stand in files beside it, as large models have them.

#ifndef DTNN_MODELS_ONNX_FILE_EXTERNAL_DATA_H_
#define DTNN_MODELS_ONNX_FILE_EXTERNAL_DATA_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "models/onnx/file/onnx.pb.h"
#include "tensor/files/input_file.h"

namespace dtnn {

class ExternalData {
 public:
  // `model`: the path of the model's file; empty: a model that has no folder.
  explicit ExternalData(std::string_view model) : model_(model) {}

  // The `size` bytes of the tensor. InvalidArgument for a place other than a regular file in the
  // model's folder, named without a path: files are not trusted to name others. Sizes are compared
  // with the file's before memory is allocated.
  absl::StatusOr<std::string> Read(const onnx::TensorProto& tensor, int64_t size);

 private:
  absl::StatusOr<const InputFile*> Open(const std::string& location);

  std::string model_;
  std::map<std::string, InputFile, std::less<>> files_;  // by location
};

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_FILE_EXTERNAL_DATA_H_
