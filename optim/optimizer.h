// How parameters follow their gradients. An Optimizer is a description (which rule, which
// constants); bound to a device it is one fused pass over the parameter arena,
// kernels/update/update.h.

#ifndef DTNN_OPTIM_OPTIMIZER_H_
#define DTNN_OPTIM_OPTIMIZER_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "kernels/context.h"
#include "kernels/update/update.h"

namespace dtnn {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual std::string_view name() const = 0;  // as --optimizer spells it
  // Values that the rule keeps per parameter.
  virtual int slots() const = 0;
  virtual absl::StatusOr<std::unique_ptr<Update>> Bind(DeviceContext& context,
                                                       DType dtype) const = 0;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_OPTIMIZER_H_
