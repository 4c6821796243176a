// The plans of cuDNN for the calls of one convolution.
//
// Those for whole, dense, aligned batches, with and without accumulation, are made first, and stay:
// the fastest of several where the context has a tuner (kernels/best_of), which its folder of plans
// keeps (kernels/libraries/kept_plans.h). Those for other calls are made when such a call first
// comes: cuDNN's own choice, within the first ones' workspace, and forgotten when there are many.
// What another convolution has made for an equal call is taken (library.h).

#ifndef DTNN_KERNELS_CONV_GPU_CUDNN_CONV_PLANS_H_
#define DTNN_KERNELS_CONV_GPU_CUDNN_CONV_PLANS_H_

#include <cudnn.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/best_of/best_of.h"
#include "kernels/conv/gpu/cudnn/call_shape.h"
#include "kernels/conv/gpu/cudnn/conv_graph.h"
#include "kernels/conv/gpu/cudnn/library.h"
#include "kernels/conv/gpu/cudnn/plan.h"
#include "kernels/device/cuda_context.h"
#include "kernels/libraries/kept_plans.h"
#include "tensor/tensor.h"

namespace dtnn::cudnn {

// The operands of a call by their names in the graph.
class Pack {
 public:
  void Add(int64_t name, void* data) {
    names_.push_back(name);
    pointers_.push_back(data);
  }
  void Add(int64_t name, const Tensor& tensor) { Add(name, tensor.raw_data()); }
  const std::vector<int64_t>& names() const { return names_; }
  const std::vector<void*>& pointers() const { return pointers_; }

 private:
  std::vector<int64_t> names_;
  std::vector<void*> pointers_;
};

class ConvPlans {
 public:
  // With the library of the context.
  ConvPlans(CudaContext& context, Library& library, const Conv2dSpec& spec)
      : context_(&context), library_(&library), spec_(spec) {}

  // The first ones. InvalidArgument, with the reasons, where cuDNN supports none of the directions;
  // NotFound for a decision from elsewhere that cuDNN has no plan for; what else fails is an error
  // too, not a reason to compute without cuDNN.
  absl::Status MakeFirst(const conv::Directions& directions);
  // Whether cuDNN does.
  bool Computes(conv::Direction direction) const { return computes_[direction]; }
  // Null where there is none; it is then not asked for again.
  absl::StatusOr<const Plan*> For(const CallShape& call);
  // Enough for every plan.
  int64_t workspace_bytes() const { return workspace_bytes_; }
  // Queues a call.
  absl::Status Execute(const Plan& plan, const Pack& call, void* workspace) const;

 private:
  // Null: cuDNN has none.
  using Plans = std::map<CallShape, std::shared_ptr<const Plan>>;

  // `why` with the call that it is about.
  absl::Status Failure(const CallShape& call, const absl::Status& why) const;
  PlanRequest RequestOf(const Descriptor& graph, int64_t most_workspace) const;
  // As the tuner of the context has decided, or decides now.
  PlanCache<Plan>::Kept FirstPlan(const CallShape& call) const;
  // Calls on random operands of their own, in the order of `plans`; without those that fail.
  absl::StatusOr<std::vector<BestOfCandidate>> MakeCandidates(const std::vector<Plan>& plans,
                                                              const CallShape& call,
                                                              const BestOfKey& key,
                                                              const BestOf& tuner) const;
  // The plan that an earlier run has kept; else what `make` makes, which is kept then. `name`: of
  // the plan that was decided for; empty: cuDNN's own choice.
  absl::StatusOr<Plan> FromFileOr(const PlanRequest& request, const BestOfKey& key,
                                  std::string_view name,
                                  absl::FunctionRef<absl::StatusOr<Plan>()> make) const;
  // The run continues without it where it cannot be kept.
  void IntoFile(const Plan& plan, const std::string& file_key) const;
  PlanCache<Plan>::Kept OtherPlan(const CallShape& call) const;
  absl::StatusOr<Plans::iterator> AddOther(const CallShape& call);

  CudaContext* context_;
  Library* library_;
  Conv2dSpec spec_;
  conv::Directions computes_ = {};
  int64_t workspace_bytes_ = 0;
  Plans first_, others_;
};

}  // namespace dtnn::cudnn

#endif  // DTNN_KERNELS_CONV_GPU_CUDNN_CONV_PLANS_H_
