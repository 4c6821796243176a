#include "models/training/step/check_outputs.h"

#include <vector>

#include "layers/activation.h"
#include "layers/adaptive_average_pool2d.h"
#include "layers/conv2d.h"
#include "layers/fc.h"
#include "layers/flatten.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

template <class L>
const L* As(const Layer& layer) {
  return dynamic_cast<const L*>(&layer);
}

// The layer that decides which values the outputs have.
const Layer& LastOf(const Graph& graph) {
  const std::vector<Node>& nodes = graph.nodes();
  const Node* node = &nodes.back();
  while (As<FlattenLayer>(*node->layer) || As<AdaptiveAveragePool2dLayer>(*node->layer)) {
    node = &nodes[size_t(node->inputs[0])];
  }
  return *node->layer;
}

}  // namespace

absl::Status CheckOutputs(const Graph& graph, const Loss& loss) {
  const FinalActivation wanted = loss.final_activation();
  if (wanted == FinalActivation::kOther) return absl::OkStatus();
  const bool classes = wanted == FinalActivation::kSoftmax;
  const Layer& last = LastOf(graph);
  const auto* activation = As<ActivationLayer>(last);
  const bool sigmoid = activation != nullptr && activation->kind() == ActivationKind::kSigmoid;
  const bool other = As<FcLayer>(last) || As<Conv2dLayer>(last) || activation != nullptr;
  if (!other || (sigmoid && !classes)) return absl::OkStatus();
  return InvalidArgument("network ", graph.name(), " ends in ", last.type_name(), ", but loss ",
                         loss.name(), " needs ",
                         classes ? "probabilities of classes, which sum to 1: end it in Softmax"
                                 : "probabilities, from 0 to 1: end it in Sigmoid",
                         ", or use the loss that it was made for");
}

}  // namespace dtnn
