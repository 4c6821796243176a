// The kind of what is found is that of the layer's output: a winograd convolution makes NaN of an
// infinity, in all of the tiles that read it (kernels/conv/conv2d.h).

#include <cmath>
#include <optional>
#include <string>

#include "kernels/operands/rows.h"
#include "kernels/transfers/transfers.h"
#include "models/plan/plan.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

struct Finding {
  int64_t index = 0;  // in the order of a dense tensor
  double value = 0;
};

std::optional<Finding> FirstNonFiniteIn(const Tensor& host, TensorFormat format) {
  std::optional<Finding> found;
  DispatchGpuFloating(host.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Rows rows = RowsOf(host, format);
    for (int64_t i = 0; i < rows.rows && !found; ++i) {
      const T* row = host.data<T>() + i * rows.pitch;
      for (int64_t j = 0; j < rows.columns && !found; ++j) {
        if (!std::isfinite(Wide<T>(row[j]))) found = {i * rows.columns + j, double(row[j])};
      }
    }
  });
  return found;
}

}  // namespace

absl::StatusOr<std::string> Plan::FirstNonFiniteParameter(const Step& step) const {
  const Node& node = graph_.nodes()[size_t(step.node)];
  const std::vector<ParameterSpec>& specs = node.parameters;
  for (size_t p = 0; p < specs.size(); ++p) {
    // In training, running statistics follow from the batch, after the layer's output.
    if (training_ && !specs[p].trainable && !node.frozen) continue;
    DTNN_ASSIGN_OR_RETURN(const Tensor host, ToHost(*context_, step.parameters[p].tensor));
    if (const auto found = FirstNonFiniteIn(host, graph_.format())) {
      return StrCat(LayerName(step), ": ", found->value, " in ", specs[p].name);
    }
  }
  return "";
}

absl::StatusOr<std::string> Plan::FirstNonFiniteSample(const Tensor& value) const {
  DTNN_ASSIGN_OR_RETURN(const Tensor host, ToHost(*context_, value));
  // On a GPU, parts of a concatenation are found in the whole.
  if (host.empty()) return "";
  const auto found = FirstNonFiniteIn(host, graph_.format());
  if (!found) return "";
  const int64_t sample_size = host.num_elements() / n_;
  return StrCat("sample ", found->index / sample_size, " contains ", found->value);
}

absl::StatusOr<std::string> Plan::FirstNonFinite(const PlanInput& x, const Tensor& targets,
                                                 int64_t step_number) {
  DTNN_RETURN_IF_ERROR(BindBatch(x, step_number));
  DTNN_ASSIGN_OR_RETURN(const std::string in_batch, FirstNonFiniteSample(x_));
  if (!in_batch.empty()) return "the batch: " + in_batch;
  const size_t end = steps_.size() - (loss_takes_logits_ ? 1 : 0);
  for (size_t i = 1; i < end; ++i) {
    const Step& step = steps_[i];
    DTNN_ASSIGN_OR_RETURN(const std::string in_parameter, FirstNonFiniteParameter(step));
    if (!in_parameter.empty()) return in_parameter;
    DTNN_RETURN_IF_ERROR(RunForward(i, i + 1));
    DTNN_ASSIGN_OR_RETURN(const std::string in_output, FirstNonFiniteSample(step.output));
    if (!in_output.empty()) return StrCat(LayerName(step), ": output of ", in_output);
  }
  if (loss_ == nullptr) return "";
  DTNN_RETURN_IF_ERROR(BringTargets(targets));
  DTNN_RETURN_IF_ERROR(RunLoss(Tensor(), 0));
  DTNN_ASSIGN_OR_RETURN(const std::string in_loss, FirstNonFiniteSample(losses_));
  return in_loss.empty() ? "" : "the loss of " + in_loss;
}

}  // namespace dtnn
