// Adam (Kingma & Ba, ICLR 2015), with epsilon inside the root and decoupled decay.

#ifndef DTNN_OPTIM_ADAM_H_
#define DTNN_OPTIM_ADAM_H_

#include "optim/optimizer.h"

namespace dtnn {

struct AdamOptions {
  double beta1 = 0.99, beta2 = 0.999;  // [0, 1)
  double epsilon = 1e-7;               // > 0
  double decay = 0;                    // weight decay, >= 0
};

class Adam : public Optimizer {
 public:
  explicit Adam(const AdamOptions& options = {});
  std::string_view name() const override { return "adam"; }
  int slots() const override { return spec_.slots(); }
  absl::StatusOr<std::unique_ptr<Update>> Bind(DeviceContext& context, DType dtype) const override;

 private:
  UpdateSpec spec_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_ADAM_H_
