// Plans that are made once for all convolutions that are alike: layers of a network, and training
// and evaluation. Nothing here needs cuDNN.

#ifndef DTNN_KERNELS_CONV_GPU_CUDNN_PLAN_CACHE_H_
#define DTNN_KERNELS_CONV_GPU_CUDNN_PLAN_CACHE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/gpu/cudnn/call_shape.h"

namespace dtnn::cudnn {

// All that a plan depends on.
struct PlanKey {
  std::string problem;  // the spec, without what the call says and what plans do not see
  CallShape call;
  int64_t most_workspace = 0;
  std::string name;  // of the plan that was decided for; empty: cuDNN's own choice

  static PlanKey Of(Conv2dSpec spec, const CallShape& call, int64_t most_workspace,
                    std::string_view name) {
    spec.batch = call.images;
    spec.filter_format.reset();  // cuDNN has an order of its own
    if (call.direction != conv::Direction::kForward) spec.epilogue = {};
    return {spec.ToString(), call, most_workspace, std::string(name)};
  }
  friend auto operator<=>(const PlanKey&, const PlanKey&) = default;
};

template <class Plan>
class PlanCache {
 public:
  using Kept = absl::StatusOr<std::shared_ptr<const Plan>>;

  // The plan of the key: of an earlier call, or as `make` makes it now. That there is none
  // (Unimplemented) is kept too; another error is not.
  Kept Get(const PlanKey& key, absl::FunctionRef<absl::StatusOr<Plan>()> make) {
    const auto found = kept_.find(key);
    if (found != kept_.end()) return found->second;
    absl::StatusOr<Plan> plan = make();
    if (!plan.ok() && !absl::IsUnimplemented(plan.status())) return plan.status();
    Kept kept =
        plan.ok() ? Kept(std::make_shared<const Plan>(*std::move(plan))) : Kept(plan.status());
    return kept_.emplace(key, std::move(kept)).first->second;
  }

  size_t size() const { return kept_.size(); }
  void Clear() { kept_.clear(); }

 private:
  std::map<PlanKey, Kept> kept_;
};

}  // namespace dtnn::cudnn

#endif  // DTNN_KERNELS_CONV_GPU_CUDNN_PLAN_CACHE_H_
