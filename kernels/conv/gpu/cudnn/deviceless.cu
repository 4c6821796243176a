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
                                       bool accumulate, int64_t alignment) const override {
    DTNN_ASSIGN_OR_RETURN(const Descriptor graph, GraphOf(spec, direction, accumulate, alignment));
    DTNN_ASSIGN_OR_RETURN(const Plan plan, ChoosePlan(RequestOf(graph, spec)));
    return DescribedPlan{plan.engine, plan.workspace_bytes, plan.only_compiled, plan.name};
  }
  absl::StatusOr<std::vector<std::string>> NamesOf(const Conv2dSpec& spec,
                                                   conv::Direction direction,
                                                   size_t most) const override {
    DTNN_ASSIGN_OR_RETURN(const Descriptor graph, GraphOf(spec, direction, /*accumulate=*/false));
    DTNN_ASSIGN_OR_RETURN(const std::vector<Plan> plans, ListPlans(RequestOf(graph, spec), most));
    std::vector<std::string> names;
    for (const Plan& plan : plans) names.push_back(plan.name);
    return names;
  }
  absl::StatusOr<DescribedPlan> PlanNamed(const Conv2dSpec& spec, conv::Direction direction,
                                          std::string_view name) const override {
    DTNN_ASSIGN_OR_RETURN(const Descriptor graph, GraphOf(spec, direction, /*accumulate=*/false));
    DTNN_ASSIGN_OR_RETURN(const Plan plan, cudnn::PlanNamed(RequestOf(graph, spec), name));
    return DescribedPlan{plan.engine, plan.workspace_bytes, plan.only_compiled, plan.name};
  }
  absl::StatusOr<std::string> TextOf(const Conv2dSpec& spec, conv::Direction direction,
                                     std::string_view name) const override {
    DTNN_ASSIGN_OR_RETURN(const Descriptor graph, GraphOf(spec, direction, /*accumulate=*/false));
    DTNN_ASSIGN_OR_RETURN(const Plan plan, cudnn::PlanNamed(RequestOf(graph, spec), name));
    return TextOfPlan(plan);
  }
  absl::StatusOr<DescribedPlan> Restore(const Conv2dSpec& spec, conv::Direction direction,
                                        std::string_view text) const override {
    DTNN_ASSIGN_OR_RETURN(const Descriptor graph, GraphOf(spec, direction, /*accumulate=*/false));
    DTNN_ASSIGN_OR_RETURN(const Plan plan, RestorePlan(RequestOf(graph, spec), text));
    return DescribedPlan{plan.engine, plan.workspace_bytes, plan.only_compiled, plan.name};
  }

 private:
  static absl::StatusOr<Descriptor> GraphOf(const Conv2dSpec& spec, conv::Direction direction,
                                            bool accumulate, int64_t alignment = 16) {
    CallShape call = DenseCall(spec, direction, spec.batch);
    call.accumulate = accumulate;
    call.alignment = alignment;
    return MakeConvGraph(spec, call, /*handle=*/nullptr);
  }
  PlanRequest RequestOf(const Descriptor& graph, const Conv2dSpec& spec) const {
    return {.graph = &graph,
            .target = {.device = &properties_},
            .tensor_cores = MayUseTensorCores(spec),
            .transforms = MayUseTransforms(spec),
            .most_workspace = MostWorkspace(kDescribedMemory)};
  }

  Descriptor properties_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DescribedDevice>> DescribeDevice(std::string_view json) {
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.Text(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, json).Finalize();
  DTNN_RETURN_IF_ERROR(properties.status());
  return std::make_unique<Device>(std::move(properties));
}

}  // namespace dtnn::cudnn
