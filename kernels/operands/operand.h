// What a primitive checks of an operand before it touches its memory: the one check that all
// operations and all their variants share.

#ifndef DTNN_KERNELS_OPERANDS_OPERAND_H_
#define DTNN_KERNELS_OPERANDS_OPERAND_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "tensor/tensor.h"

namespace dtnn {

// Whether a view with a pitch will do: it does for activations, never for parameters and vectors.
enum class Pitch : uint8_t { kAllowed, kNone };

// InvalidArgument that names the operation and the operand, what it is and what was expected,
// unless the tensor has memory on `device`, this dtype and shape and, where asked, no pitch.
absl::Status CheckOperand(std::string_view operation, std::string_view name, const Tensor& tensor,
                          Device device, DType dtype, const Shape& shape, Pitch pitch);

}  // namespace dtnn

#endif  // DTNN_KERNELS_OPERANDS_OPERAND_H_
