// Whether a primitive refuses every operand that does not fit, one at a time: missing, of another
// shape, type or device, with a pitch where it may have none, and a workspace that is a byte short.

#ifndef DTNN_TOOLS_TESTING_REFUSALS_H_
#define DTNN_TOOLS_TESTING_REFUSALS_H_

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tensor/tensor.h"

namespace dtnn::testing {

struct CheckedOperand {
  std::string_view name;
  Tensor* tensor;  // one that fits
  bool optional = false;
  // Else it must be dense. (Vectors have no pitch.)
  bool may_be_pitched = true;
};

// Fails unless `call`, which uses the operands, succeeds as they are, and is InvalidArgument with
// each of the others in the place of one.
void ExpectRefusals(const std::vector<CheckedOperand>& operands,
                    absl::FunctionRef<absl::Status()> call);

// Fails unless the call needs these bytes: all are enough, one less is InvalidArgument.
void ExpectWorkspaceOf(size_t bytes, absl::FunctionRef<absl::Status(std::span<std::byte>)> call);

}  // namespace dtnn::testing

#endif  // DTNN_TOOLS_TESTING_REFUSALS_H_
