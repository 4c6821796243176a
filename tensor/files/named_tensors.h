// Tensors with names, in order: what array files hold.

#ifndef DTNN_TENSOR_FILES_NAMED_TENSORS_H_
#define DTNN_TENSOR_FILES_NAMED_TENSORS_H_

#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace dtnn {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_NAMED_TENSORS_H_
