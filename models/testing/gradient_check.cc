#include "models/testing/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "tensor/status_macros.h"
#include "tools/testing/tensors.h"

namespace dtnn::testing {
namespace {

constexpr double kScale = 0.5;  // of the gradients
constexpr int64_t kStep = 2;    // training steps done, for dropout

// A training plan with everything that one pass needs.
class Run {
 public:
  static absl::StatusOr<std::unique_ptr<Run>> Create(const Graph& graph,
                                                     const NetworkCheckOptions& options) {
    auto run = std::make_unique<Run>();
    DTNN_ASSIGN_OR_RETURN(run->device_, DeviceContext::Create(Device::Cpu()));
    DTNN_ASSIGN_OR_RETURN(
        run->store_, ParameterStore::Create(graph, *run->device_, DType::kFloat64, /*seed=*/11));
    DTNN_RETURN_IF_ERROR(run->store_->AllocateForTraining(*run->device_, /*slots=*/0));
    DTNN_ASSIGN_OR_RETURN(run->plan_, Plan::Compile(graph, *run->store_, *run->device_,
                                                    {.batch = options.batch,
                                                     .training = true,
                                                     .loss = &run->loss_,
                                                     .conv_variant = options.conv_variant,
                                                     .best_of = options.best_of}));
    const int64_t batch = options.batch;
    run->x_ = RandomTensor(DType::kFloat64, graph.input_shape().Prepend(batch), 5);
    std::vector<double> labels;
    const int64_t outputs = OutputsOf(graph);
    if (graph.output_shape().rank() == 3) {  // every pixel has a class, or none
      const ImageExtents image = ExtentsOf(graph.output_shape(), graph.format());
      const Shape shape{batch, image.height, image.width};
      for (int64_t i = 0; i < shape.NumElements(); ++i) {
        labels.push_back(double(i * 7 % (outputs + 1) - 1));
      }
      run->labels_ = TensorOf(DType::kInt32, shape, labels);
      return run;
    }
    for (int64_t i = 0; i < batch; ++i) labels.push_back(double(i * 7 % outputs));
    run->labels_ = TensorOf(DType::kInt32, Shape{batch}, labels);
    return run;
  }

  // 0.5 * sum of losses; the gradients are then in store().
  absl::StatusOr<double> Objective() {
    store_->MarkChanged();
    DTNN_RETURN_IF_ERROR(plan_->ForwardBackward(x_, labels_, kScale, kStep));
    return kScale * plan_->LossSum();
  }

  // d objective / d element, by central differences of width `step`.
  absl::StatusOr<double> Slope(double& element, double step) {
    const double value = element;
    element = value + step;
    DTNN_ASSIGN_OR_RETURN(const double above, Objective());
    element = value - step;
    DTNN_ASSIGN_OR_RETURN(const double below, Objective());
    element = value;
    return (above - below) / (2 * step);
  }

  ParameterStore& store() { return *store_; }

 private:
  CategoricalCrossEntropy loss_;
  std::unique_ptr<DeviceContext> device_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Plan> plan_;
  Tensor x_, labels_;
};

// One trainable parameter; `gradient` as the plan has it.
struct Checked {
  std::string key;
  Tensor value;
  std::vector<double> gradient;
};

std::vector<Checked> TrainableParameters(const Graph& graph, ParameterStore& store) {
  std::vector<Checked> parameters;
  for (size_t node = 0; node < graph.nodes().size(); ++node) {
    const std::vector<ParameterSpec>& specs = graph.nodes()[node].parameters;
    for (size_t i = 0; i < specs.size(); ++i) {
      if (!specs[i].trainable) continue;
      parameters.push_back({Graph::WeightKey(graph.nodes()[node], specs[i]),
                            store.Value(int(node), int(i)),
                            Values(store.Gradient(int(node), int(i)))});
    }
  }
  return parameters;
}

void MoveOffInitialValues(ParameterStore& store) {
  const Tensor values = store.values();
  const std::vector<double> noise = Values(RandomTensor(DType::kFloat64, values.shape(), 3));
  for (size_t i = 0; i < noise.size(); ++i) values.data<double>()[i] += 0.1 * noise[i];
}

// A slope is wrong where a relu or a maximum changes its mind within the step, which a smaller one
// avoids, and where little is left of the difference, which a larger one does.
absl::StatusOr<::testing::AssertionResult> CheckElement(Run& run, const Checked& parameter,
                                                        int64_t element, double tolerance) {
  double slope = 0;
  for (double step : {1e-6, 1e-5, 1e-7, 1e-9}) {
    DTNN_ASSIGN_OR_RETURN(slope, run.Slope(parameter.value.data<double>()[element], step));
    if (std::abs(slope - parameter.gradient[size_t(element)]) <= tolerance) {
      return ::testing::AssertionSuccess();
    }
  }
  return ::testing::AssertionFailure()
         << parameter.key << ", element " << element << ": gradient "
         << parameter.gradient[size_t(element)] << ", but the slope is " << slope << " (tolerance "
         << tolerance << ")";
}

absl::StatusOr<::testing::AssertionResult> Check(const Graph& graph,
                                                 const NetworkCheckOptions& options) {
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Run> run, Run::Create(graph, options));
  MoveOffInitialValues(run->store());
  DTNN_RETURN_IF_ERROR(run->Objective().status());
  const std::vector<Checked> parameters = TrainableParameters(graph, run->store());
  int64_t checked = 0, telling = 0;
  for (const Checked& parameter : parameters) {
    const int64_t count = parameter.value.num_elements();
    const int64_t wanted = std::min(count, options.elements);
    double largest = 0;
    for (double gradient : parameter.gradient) largest = std::max(largest, std::abs(gradient));
    const double tolerance = 1e-5 * largest + 1e-7;
    for (int64_t i = 0; i < wanted; ++i) {
      const int64_t element = i * count / wanted;
      DTNN_ASSIGN_OR_RETURN(const ::testing::AssertionResult result,
                            CheckElement(*run, parameter, element, tolerance));
      if (!result) return result;
      ++checked;
      telling += std::abs(parameter.gradient[size_t(element)]) > 10 * tolerance;
    }
  }
  if (telling == 0 || 2 * telling < checked) {
    return ::testing::AssertionFailure()
           << "only " << telling << " of " << checked << " gradients are large enough to tell";
  }
  return ::testing::AssertionSuccess();
}

}  // namespace

::testing::AssertionResult CheckNetworkGradients(const Graph& graph,
                                                 const NetworkCheckOptions& options) {
  const absl::StatusOr<::testing::AssertionResult> result = Check(graph, options);
  if (!result.ok()) return ::testing::AssertionFailure() << result.status();
  return *result;
}

}  // namespace dtnn::testing
