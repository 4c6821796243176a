// Stochastic gradient descent with momentum (Sutskever et al., ICML 2013), optionally Nesterov's.

#ifndef DTNN_OPTIM_SGD_H_
#define DTNN_OPTIM_SGD_H_

#include "optim/optimizer.h"

namespace dtnn {

struct SgdOptions {
  double momentum = 0.9;  // [0, 1); 0 keeps no slot
  bool nesterov = false;
  double decay = 0;  // weight decay, >= 0
};

class Sgd : public Optimizer {
 public:
  explicit Sgd(const SgdOptions& options = {});
  std::string_view name() const override { return "sgd"; }
  int slots() const override { return spec_.slots(); }
  absl::StatusOr<std::unique_ptr<Update>> Bind(DeviceContext& context, DType dtype) const override;

 private:
  UpdateSpec spec_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_SGD_H_
