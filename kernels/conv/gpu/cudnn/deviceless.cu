#include <utility>

#include "kernels/conv/gpu/cudnn/conv_graph.h"
#include "kernels/conv/gpu/cudnn/deviceless.h"
#include "kernels/conv/gpu/cudnn/plan.h"
#include "tensor/status_macros.h"

namespace dtnn::cudnn {
namespace {

class Device final : public DescribedDevice {
 public:
  explicit Device(Descriptor properties) : properties_(std::move(properties)) {}

  int64_t version() const override { return int64_t(cudnnGetVersion()); }
  absl::StatusOr<DescribedPlan> PlanOf(const Conv2dSpec& spec, conv::Direction direction,
                                       bool accumulate) const override {
    CallShape call = DenseCall(spec, direction, spec.batch);
    call.accumulate = accumulate;
    DTNN_ASSIGN_OR_RETURN(const Descriptor graph, MakeConvGraph(spec, call, /*handle=*/nullptr));
    DTNN_ASSIGN_OR_RETURN(const Plan plan, ChoosePlan(graph, {.device = &properties_},
                                                      MayUseTensorCores(spec), kMostWorkspace));
    return DescribedPlan{plan.engine, plan.workspace_bytes, plan.only_compiled};
  }

 private:
  Descriptor properties_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DescribedDevice>> DescribeDevice(std::string_view json) {
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties
      .Set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, int64_t(json.size()),
           json.data())
      .Finalize();
  DTNN_RETURN_IF_ERROR(properties.status());
  return std::make_unique<Device>(std::move(properties));
}

}  // namespace dtnn::cudnn
