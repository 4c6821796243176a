// A trained parameter as a primitive sees it: its values and a version number that the owner raises
// whenever they change. A primitive may keep a packed or transformed copy of a filter and packs it
// again only when the version differs from the one it packed.

#ifndef DTNN_KERNELS_OPERANDS_PARAMETER_VIEW_H_
#define DTNN_KERNELS_OPERANDS_PARAMETER_VIEW_H_

#include <cstdint>

#include "tensor/tensor.h"

namespace dtnn {

struct ParameterView {
  Tensor tensor;
  uint64_t version = 0;  // 0: unknown, never cache
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_OPERANDS_PARAMETER_VIEW_H_
