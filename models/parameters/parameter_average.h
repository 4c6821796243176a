// The average of the parameters that an optimizer keeps (Optimizer::average_slot), in their place:
// tests, schedulers and files take it for the parameters, and training continues with the
// parameters themselves. The two exchange contents, because plans are made for places. All calls
// do nothing where no average is kept.
//
// Running statistics are not averaged again: they are averages over steps already, and a second one
// would be late. Keras and PyTorch's AveragedModel copy them too.

#ifndef DTNN_MODELS_PARAMETERS_PARAMETER_AVERAGE_H_
#define DTNN_MODELS_PARAMETERS_PARAMETER_AVERAGE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/device/context.h"
#include "models/parameters/parameter_store.h"
#include "tensor/tensor.h"

namespace dtnn {

class ParameterAverage {
 public:
  // The store, allocated for training before the first other call, and the context must outlive
  // this.
  ParameterAverage(ParameterStore& store, DeviceContext& context)
      : store_(&store), context_(&context) {}

  // Before a step. The parameters return to their place, unless others have been written there
  // since Show or Restored, with which both continue. Before the first update the average becomes
  // the parameters.
  absl::Status BeginStep(int64_t steps_done);
  // After a step: the average takes the place of the parameters, and they take that of the average.
  absl::Status Show(int64_t steps_done);
  // The store is filled, before this call, with what one in training held after Show.
  void Restored(int64_t steps_done);

 private:
  Tensor Average() const { return store_->slots()[size_t(*store_->average_slot())]; }
  absl::Status Begin();
  absl::Status Exchange();

  ParameterStore* store_;
  DeviceContext* context_;
  Tensor scratch_;  // what is on its way from one to the other
  bool shown_ = false;
  uint64_t shown_version_ = 0;  // of the store
};

}  // namespace dtnn

#endif  // DTNN_MODELS_PARAMETERS_PARAMETER_AVERAGE_H_
